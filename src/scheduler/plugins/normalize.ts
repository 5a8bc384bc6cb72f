/** Score normalization to the range 0 to 100. */
import { scoreMax } from '../framework.ts'

/** Scales the scores so that the maximum becomes 100. All zero scores stay zero. */
export function normalize(scores: Float64Array): void {
  const most = highest(scores)
  if (most === 0) return
  for (let index = 0; index < scores.length; index++)
    scores[index] = Math.trunc((scoreMax * scores[index]!) / most)
}

/** Reversed: 0 becomes the best score. */
export function normalizeReversed(scores: Float64Array): void {
  const most = highest(scores)
  for (let index = 0; index < scores.length; index++) {
    scores[index] = most === 0 ? scoreMax : scoreMax - Math.trunc((scoreMax * scores[index]!) / most)
  }
}

function highest(scores: Float64Array): number {
  return scores.reduce((most, score) => (score > most ? score : most), 0)
}
