import type { Tone } from '../format/tone.ts'

/** One path for all pods of a state: a card with a hundred pods has a handful of elements. */
export interface PodShape {
  readonly tone: Tone
  readonly path: string
}

const size = 11
const pitch = 14
const columns = 12

export const podsWidth = columns * pitch

export function podsHeight(count: number): number {
  return Math.max(1, Math.ceil(count / columns)) * pitch
}

/** Index of the pod at a position. */
export function podAt(x: number, y: number): number {
  const column = Math.floor(x / pitch)
  return column < 0 || column >= columns ? -1 : Math.floor(y / pitch) * columns + column
}

/** States differ in shape as well as in colour, like the marks of lists. */
const outlines: Readonly<Record<Tone, string>> = {
  good: `h${size}v${size}h-${size}z`,
  // A frame: the inner outline runs the other way round.
  busy: `h${size}v${size}h-${size}zm2 2v${size - 4}h${size - 4}v-${size - 4}z`,
  warn: `m${size / 2} 0l${size / 2} ${size}h-${size}z`,
  bad: `m${size / 2} 0l${size / 2} ${size / 2}l-${size / 2} ${size / 2}l-${size / 2} -${size / 2}z`,
  idle: `m0 ${size / 2 - 1.5}h${size}v3h-${size}z`,
}

export function podShapes(pods: readonly { readonly tone: Tone }[]): readonly PodShape[] {
  const paths = new Map<Tone, string>()
  for (const [index, { tone }] of pods.entries()) {
    const x = (index % columns) * pitch
    const y = Math.floor(index / columns) * pitch
    paths.set(tone, `${paths.get(tone) ?? ''}M${x} ${y}${outlines[tone]}`)
  }
  return [...paths].map(([tone, path]) => ({ tone, path }))
}
