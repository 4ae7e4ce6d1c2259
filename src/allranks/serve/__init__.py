"""Serving the course: the build of the book, its one Sphinx extension, the site on loopback."""
