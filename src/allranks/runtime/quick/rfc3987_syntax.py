"""Stands in for rfc3987_syntax in Ray's own processes, so that they start in a third of the time.

Every process of Ray imports jsonschema, which imports rfc3987_syntax where Jupyter has brought it
along, which builds a parser for a second or two, which nobody uses. jsonschema does without it if
its import fails. `cluster.connect` puts this folder on the path of Ray's processes only.
"""

message = "rfc3987_syntax is left out here on purpose; see allranks.runtime.cluster"
raise ImportError(message)
