// @ts-check
// The table of allranks.algorithms once more, so that a page can change n without a kernel. The
// generators stand in algorithms/, one family a file. tests/view compares every transfer.

import { directAllToAll, pairwiseAllToAll } from "./algorithms/all_to_all.js";
import { bruckAllGather, bruckAllToAll } from "./algorithms/bruck.js";
import { chainBroadcast, chainReduce } from "./algorithms/chain.js";
import {
  directAllGather, directAllReduce, directReduceScatter, flatAllReduce, flatBroadcast, flatGather, flatReduce,
  flatScatter, oneShotAllReduce,
} from "./algorithms/direct.js";
import { doubleBinaryTreeAllReduce } from "./algorithms/double_tree.js";
import {
  powerOfTwo, rabenseifnerAllReduce, recursiveDoublingAllGather, recursiveDoublingAllReduce, recursiveHalvingReduceScatter,
} from "./algorithms/doubling.js";
import {
  ableToAllReduce, ableToAllToAll, allReduceChunks, allReduceSwitches, hierarchicalAllReduce, hierarchicalAllToAll,
} from "./algorithms/hierarchical.js";
import { neighborExchangeAllGather } from "./algorithms/neighbor.js";
import { nvlsAllGather, nvlsAllReduce, nvlsReduceScatter } from "./algorithms/nvls.js";
import { patAllGather, patReduceScatter } from "./algorithms/pat.js";
import {
  bidirectionalRingAllGather, bidirectionalRingAllReduce, bidirectionalRingReduceScatter, ringAllGather, ringAllReduce,
  ringReduceScatter, unchunkedRingAllReduce,
} from "./algorithms/ring.js";
import { sharpAllReduce, sharpSwitches } from "./algorithms/sharp.js";
import {
  binomialAllReduce, binomialBroadcast, binomialGather, binomialReduce, binomialScatter, scatterAllGatherBroadcast,
} from "./algorithms/tree.js";

/** @typedef {import("./algorithms/base.js").Op} Op */
/** @typedef {import("./algorithms/base.js").Transfer} Transfer */
/** @typedef {import("./algorithms/base.js").Step} Step */
/** @typedef {import("./algorithms/base.js").Parameters} Parameters */
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
 * @property {(n: number, given: Parameters) => Step[]} steps
 * @property {(n: number, given: Omit<Parameters, "chunks">) => number} chunks how many pieces, if nobody asks for another number
 * @property {boolean} open whether the number of chunks may be chosen
 * @property {(n: number, given: Parameters) => number} switches
 * @property {(n: number, given: Parameters) => boolean} able whether there is a schedule for these numbers
 * @property {string} needs what n must be, in the words of allranks.algorithms; "" where any n will do
 */

const ONE = () => 1;
/** @param {number} n @returns {number} */
const PER_RANK = (n) => n;
/** @param {number} n @returns {number} */
const PER_PAIR = (n) => n * n;
/** @param {number} n @returns {number} */
const ONE_ABOVE = (n) => (n > 1 ? 1 : 0);

/** @param {Algorithm["steps"]} steps @param {Algorithm["chunks"]} [chunks] @param {Partial<Algorithm>} [more] @returns {Algorithm} */
function algorithm(steps, chunks = ONE, more = {}) {
  return { steps, chunks, open: false, switches: () => 0, able: () => true, needs: "", ...more };
}

const NOTHING = { root: 0, nodeSize: null, inner: null, outer: null, radix: null };
const OPEN = { open: true };
const NVLS = {
  open: true,
  switches: ONE_ABOVE,
  /** @type {Algorithm["able"]} */
  able: (n, { chunks }) => chunks % n === 0,
};

/** @type {Record<string, Record<string, Algorithm>>} */
export const ALGORITHMS = {
  broadcast: {
    flat: algorithm((n, { root }) => flatBroadcast(n, root)),
    chain: algorithm((n, { root, chunks }) => chainBroadcast(n, root, chunks), ONE, OPEN),
    binomial: algorithm((n, { root }) => binomialBroadcast(n, root)),
    scatter_all_gather: algorithm((n, { root }) => scatterAllGatherBroadcast(n, root), PER_RANK),
  },
  reduce: {
    flat: algorithm((n, { root }) => flatReduce(n, root)),
    chain: algorithm((n, { root, chunks }) => chainReduce(n, root, chunks), ONE, OPEN),
    binomial: algorithm((n, { root }) => binomialReduce(n, root)),
  },
  scatter: {
    flat: algorithm((n, { root }) => flatScatter(n, root), PER_RANK),
    binomial: algorithm((n, { root }) => binomialScatter(n, root), PER_RANK),
  },
  gather: {
    flat: algorithm((n, { root }) => flatGather(n, root), PER_RANK),
    binomial: algorithm((n, { root }) => binomialGather(n, root), PER_RANK),
  },
  all_gather: {
    ring: algorithm(ringAllGather, PER_RANK),
    bidirectional_ring: algorithm(bidirectionalRingAllGather, PER_RANK),
    neighbor_exchange: algorithm(neighborExchangeAllGather, PER_RANK, { able: (n) => n === 1 || n % 2 === 0, needs: "needs an even number of ranks" }),
    recursive_doubling: algorithm(recursiveDoublingAllGather, PER_RANK, { able: (n) => n === powerOfTwo(n), needs: "needs a power of two" }),
    bruck: algorithm(bruckAllGather, PER_RANK),
    direct: algorithm(directAllGather, PER_RANK),
    pat: algorithm(patAllGather, PER_RANK),
    nvls: algorithm((n, { chunks }) => nvlsAllGather(n, chunks), PER_RANK, NVLS),
  },
  reduce_scatter: {
    ring: algorithm(ringReduceScatter, PER_RANK),
    bidirectional_ring: algorithm(bidirectionalRingReduceScatter, PER_RANK),
    recursive_halving: algorithm(recursiveHalvingReduceScatter, PER_RANK),
    direct: algorithm(directReduceScatter, PER_RANK),
    pat: algorithm(patReduceScatter, PER_RANK),
    nvls: algorithm((n, { chunks }) => nvlsReduceScatter(n, chunks), PER_RANK, NVLS),
  },
  all_reduce: {
    flat: algorithm(flatAllReduce),
    unchunked_ring: algorithm(unchunkedRingAllReduce, ONE, { able: (n) => n < 3 }),
    ring: algorithm(ringAllReduce, PER_RANK),
    bidirectional_ring: algorithm(bidirectionalRingAllReduce, PER_RANK),
    binomial: algorithm(binomialAllReduce),
    recursive_doubling: algorithm(recursiveDoublingAllReduce),
    rabenseifner: algorithm(rabenseifnerAllReduce, powerOfTwo),
    direct: algorithm(directAllReduce, PER_RANK),
    one_shot: algorithm(oneShotAllReduce),
    double_binary_tree: algorithm((n, { chunks }) => doubleBinaryTreeAllReduce(n, chunks), () => 2, { open: true, able: (n, { chunks }) => n === 1 || chunks % 2 === 0 }),
    hierarchical: algorithm((n, given) => hierarchicalAllReduce(n, given, plain), (n, given) => allReduceChunks(n, given, plain), {
      switches: (n, given) => allReduceSwitches(n, given, plain),
      able: (n, given) => ableToAllReduce(n, given, plain),
    }),
    sharp: algorithm((n, { chunks, radix }) => sharpAllReduce(n, chunks, radix), ONE, {
      open: true,
      switches: (n, { radix }) => sharpSwitches(n, radix),
      able: (_n, { radix }) => radix === null || radix > 1,
    }),
    nvls: algorithm((n, { chunks }) => nvlsAllReduce(n, chunks), PER_RANK, NVLS),
  },
  all_to_all: {
    direct: algorithm(directAllToAll, PER_PAIR),
    pairwise: algorithm(pairwiseAllToAll, PER_PAIR),
    bruck: algorithm(bruckAllToAll, PER_PAIR),
    hierarchical: algorithm((n, given) => hierarchicalAllToAll(n, given, plain), PER_PAIR, {
      able: (n, given) => ableToAllToAll(n, given, plain),
    }),
  },
};

export const ROOTED = new Set(["broadcast", "reduce", "scatter", "gather"]);
/** Beyond this a page would be slow; Python writes out more. */
const MOST_TRANSFERS = 100_000;

/** @param {string} collective @param {string} name @returns {Algorithm | null} */
export function find(collective, name) {
  const named = Object.hasOwn(ALGORITHMS, collective) ? ALGORITHMS[collective] : undefined;
  return (named && Object.hasOwn(named, name) ? named[name] : undefined) ?? null;
}

/**
 * Why n ranks cannot run an algorithm, as words behind its name; "" where they can.
 * @param {string} collective @param {string} name @param {number} n @returns {string}
 */
export function refusal(collective, name, n) {
  const entry = find(collective, name);
  if (!entry?.needs) return "";
  return entry.able(n, { ...NOTHING, chunks: entry.chunks(n, NOTHING) }) ? "" : entry.needs;
}

/**
 * An algorithm with nothing decided but n: what runs inside or between the nodes of a hierarchy.
 * @type {import("./algorithms/hierarchical.js").Table}
 */
function plain(collective, name) {
  const entry = find(collective, name);
  if (!entry) return null;
  /** @param {number} n @returns {Parameters} */
  const usual = (n) => ({ ...NOTHING, chunks: entry.chunks(n, NOTHING) });
  return {
    steps: (n) => entry.steps(n, usual(n)),
    chunks: (n) => entry.chunks(n, NOTHING),
    able: (n) => entry.able(n, usual(n)),
    switches: (n) => entry.switches(n, usual(n)),
  };
}

/** What may be asked for beside n. @typedef {{root?: number | null, chunks?: number | null, nodeSize?: number | number[] | null, inner?: string | null, outer?: string | null, radix?: number | null}} Asked */

/**
 * The schedule of a collective by an algorithm, or null if this page cannot make it.
 * @param {string} collective
 * @param {string} name
 * @param {{n: number} & Asked} size
 * @returns {Schedule | null}
 */
export function build(collective, name, { n, root = 0, chunks = null, nodeSize = null, inner = null, outer = null, radix = null }) {
  const entry = find(collective, name);
  if (!entry || !Number.isInteger(n) || n < 1) return null;
  const rooted = ROOTED.has(collective);
  const start = rooted ? Math.min(Math.max(root ?? 0, 0), n - 1) : 0;
  const given = { root: start, nodeSize, inner, outer, radix };
  const pieces = entry.open && chunks ? chunks : entry.chunks(n, given);
  const all = { ...given, chunks: pieces };
  if (!entry.able(n, all)) return null;
  const steps = entry.steps(n, all);
  if (steps.reduce((sum, step) => sum + step.length, 0) > MOST_TRANSFERS) return null;
  return {
    collective,
    algorithm: name,
    world_size: n,
    num_chunks: pieces,
    root: rooted ? start : null,
    num_switches: entry.switches(n, all),
    steps,
  };
}
