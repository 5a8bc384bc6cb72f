export interface RotationPlan {
  /** The oldest first. */
  readonly remove: readonly string[]
  readonly compress: readonly string[]
}

/**
 * What is to be done in a folder before its log is moved aside: with that one and the new one there are as many files
 * as there may be. What was left half done goes too.
 */
export function planRotation(names: readonly string[], log: string, maxFiles: number): RotationPlan {
  const rotated = names.filter(name => name.startsWith(`${log}.`)).sort()
  const all = new Set(rotated)
  const isUseless = (name: string): boolean => name.endsWith('.tmp') || all.has(`${name}.gz`)
  const kept = rotated.filter(name => !isUseless(name))
  const excess = kept.slice(0, Math.max(0, kept.length - Math.max(0, maxFiles - 2)))
  const staying = kept.slice(excess.length)
  return {
    remove: [...rotated.filter(isUseless), ...excess],
    compress: staying.filter(name => !name.endsWith('.gz')),
  }
}

/** Added to the name of a log that is moved aside: `20261115-155731`. */
export function rotatedName(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
}
