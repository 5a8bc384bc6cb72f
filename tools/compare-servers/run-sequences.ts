import type { Comparison, ServerPair } from './pair.ts'
import type { Sequence } from './request.ts'

/** Sequences in progress at the same time. */
const concurrencyMax = 8

/** Sends the requests of all sequences. Results of one sequence arrive in its order, those of several in any. */
export async function runSequences(
  pair: ServerPair,
  sequences: readonly Sequence[],
  onResult: (comparison: Comparison) => void,
): Promise<void> {
  const pending = sequences.values()
  const work = async (): Promise<void> => {
    for (const sequence of pending) {
      for await (const comparison of pair.compare(sequence)) onResult(comparison)
    }
  }
  await Promise.all(Array.from({ length: concurrencyMax }, work))
}
