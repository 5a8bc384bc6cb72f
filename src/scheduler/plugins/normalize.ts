/** How scores of any size become scores up to the highest there is. */
import { scoreMax } from '../framework.ts'

/** The highest becomes the highest there is, the others in proportion. All that are nothing stay so. */
export function normalize(scores: Float64Array): void {
  const most = highest(scores)
  if (most === 0) return
  for (let index = 0; index < scores.length; index++)
    scores[index] = Math.trunc((scoreMax * scores[index]!) / most)
}

/** The other way round: nothing is the best. */
export function normalizeReversed(scores: Float64Array): void {
  const most = highest(scores)
  for (let index = 0; index < scores.length; index++) {
    scores[index] = most === 0 ? scoreMax : scoreMax - Math.trunc((scoreMax * scores[index]!) / most)
  }
}

function highest(scores: Float64Array): number {
  return scores.reduce((most, score) => (score > most ? score : most), 0)
}
