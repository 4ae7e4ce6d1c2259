// @ts-check
// The generators of allranks.algorithms once more, so that a page can change n without a kernel.
// tests/view compares them with the Python ones, transfer for transfer.

/** @typedef {"copy" | "reduce"} Op */
/** @typedef {[src: number, dst: number, chunk: number, op: Op]} Transfer */
/** @typedef {Transfer[]} Step */
/**
 * @typedef {object} Schedule
 * @property {string} collective
 * @property {string} algorithm
 * @property {number} world_size
 * @property {number} num_chunks
 * @property {number | null} root
 * @property {number} num_switches
 * @property {Step[]} steps
 */
/**
 * @typedef {object} Algorithm
 * @property {(n: number, root: number, chunks: number) => Step[]} steps
 * @property {(n: number) => number} chunks how many pieces, if nobody asks for another number
 * @property {boolean} open whether the number of chunks may be chosen
 * @property {number} switches
 */

/** @param {number} count @returns {number[]} 0 .. count - 1 */
export function range(count) {
  return Array.from({ length: Math.max(0, count) }, (_, index) => index);
}

/** @param {number} value @param {number} n @returns {number} value mod n, never negative */
export function modulo(value, n) {
  return ((value % n) + n) % n;
}

/** @param {number} n @returns {number[]} 1, 2, 4, ... below n */
function distances(n) {
  const found = [];
  for (let distance = 1; distance < n; distance *= 2) found.push(distance);
  return found;
}

/** @param {number} n @param {number} root @returns {Step[]} */
function flatBroadcast(n, root) {
  return range(n - 1).map((far) => [[root, (root + far + 1) % n, 0, "copy"]]);
}

/** @param {number} n @param {number} root @returns {Step[]} */
function flatReduce(n, root) {
  return range(n - 1).map((far) => [[(root + far + 1) % n, root, 0, "reduce"]]);
}

/** @param {number} n @param {number} shift 0: from the root on, 1: towards the root
 *  @param {number} chunks @param {number} root @param {Op} op @returns {Step[]} */
function chain(n, shift, chunks, root, op) {
  const hops = n - 1;
  return range(hops ? hops - 1 + chunks : 0).map((step) =>
    range(hops)
      .filter((hop) => step - hop >= 0 && step - hop < chunks)
      .map((hop) => [(root + hop + shift) % n, (root + hop + shift + 1) % n, step - hop, op]),
  );
}

/** @param {number} n @param {number} root @returns {Step[]} */
function binomialBroadcast(n, root) {
  return distances(n).map((distance) =>
    range(Math.min(distance, n - distance)).map((v) => [
      (root + v) % n,
      (root + v + distance) % n,
      0,
      "copy",
    ]),
  );
}

/** @param {number} n @param {number} root @returns {Step[]} */
function binomialReduce(n, root) {
  return binomialBroadcast(n, root)
    .reverse()
    .map((step) => step.map(([src, dst, chunk]) => [dst, src, chunk, "reduce"]));
}

/** @param {number} n @param {number} root @returns {Step[]} */
function binomialScatter(n, root) {
  return distances(n)
    .reverse()
    .map((distance) => {
      /** @type {Step} */
      const step = [];
      for (let v = 0; v < n - distance; v += 2 * distance) {
        for (let block = v + distance; block < Math.min(v + 2 * distance, n); block += 1) {
          step.push([(root + v) % n, (root + v + distance) % n, (root + block) % n, "copy"]);
        }
      }
      return step;
    });
}

/** @param {number} n @returns {Step[]} */
function ringReduceScatter(n) {
  return range(n - 1).map((step) =>
    range(n).map((rank) => [rank, (rank + 1) % n, modulo(rank - 1 - step, n), "reduce"]),
  );
}

/** @param {number} n @returns {Step[]} */
function ringAllGather(n) {
  return range(n - 1).map((step) =>
    range(n).map((rank) => [rank, (rank + 1) % n, modulo(rank - step, n), "copy"]),
  );
}

/** @param {number} n @param {number} chunks @returns {Step[]} */
function sharpAllReduce(n, chunks) {
  return range(n > 1 ? chunks + 1 : 0).map((step) => {
    /** @type {Step} */
    const up = step < chunks ? range(n).map((rank) => [rank, n, step, "reduce"]) : [];
    /** @type {Step} */
    const down = step > 0 ? range(n).map((rank) => [n, rank, step - 1, "copy"]) : [];
    return [...up, ...down];
  });
}

const ONE = () => 1;
/** @param {number} n @returns {number} */
const PER_RANK = (n) => n;

/** @param {Algorithm["steps"]} steps @param {Algorithm["chunks"]} chunks @param {boolean} open
 *  @param {number} switches @returns {Algorithm} */
function algorithm(steps, chunks = ONE, open = false, switches = 0) {
  return { steps, chunks, open, switches };
}

/** @type {Record<string, Record<string, Algorithm>>} */
export const ALGORITHMS = {
  broadcast: {
    flat: algorithm((n, root) => flatBroadcast(n, root)),
    chain: algorithm((n, root, chunks) => chain(n, 0, chunks, root, "copy"), ONE, true),
    binomial: algorithm((n, root) => binomialBroadcast(n, root)),
    scatter_all_gather: algorithm(
      (n, root) => [...binomialScatter(n, root), ...ringAllGather(n)],
      PER_RANK,
    ),
  },
  reduce: {
    flat: algorithm((n, root) => flatReduce(n, root)),
    chain: algorithm((n, root, chunks) => chain(n, 1, chunks, root, "reduce"), ONE, true),
    binomial: algorithm((n, root) => binomialReduce(n, root)),
  },
  scatter: { binomial: algorithm((n, root) => binomialScatter(n, root), PER_RANK) },
  all_gather: { ring: algorithm((n) => ringAllGather(n), PER_RANK) },
  reduce_scatter: { ring: algorithm((n) => ringReduceScatter(n), PER_RANK) },
  all_reduce: {
    ring: algorithm((n) => [...ringReduceScatter(n), ...ringAllGather(n)], PER_RANK),
    sharp: algorithm((n, _root, chunks) => sharpAllReduce(n, chunks), ONE, true, 1),
  },
};

export const ROOTED = new Set(["broadcast", "reduce", "scatter", "gather"]);

/** @param {string} collective @param {string} name @returns {Algorithm | null} */
export function find(collective, name) {
  const named = Object.hasOwn(ALGORITHMS, collective) ? ALGORITHMS[collective] : undefined;
  return (named && Object.hasOwn(named, name) ? named[name] : undefined) ?? null;
}

/**
 * The schedule of a collective by an algorithm, or null if this page cannot make it.
 * @param {string} collective
 * @param {string} name
 * @param {{n: number, root?: number | null, chunks?: number | null}} size
 * @returns {Schedule | null}
 */
export function build(collective, name, { n, root = 0, chunks = null }) {
  const entry = find(collective, name);
  if (!entry || !Number.isInteger(n) || n < 1) return null;
  const rooted = ROOTED.has(collective);
  const start = rooted ? Math.min(Math.max(root ?? 0, 0), n - 1) : 0;
  const pieces = entry.open && chunks ? chunks : entry.chunks(n);
  return {
    collective,
    algorithm: name,
    world_size: n,
    num_chunks: pieces,
    root: rooted ? start : null,
    num_switches: n > 1 ? entry.switches : 0,
    steps: entry.steps(n, start, pieces),
  };
}
