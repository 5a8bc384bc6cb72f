export interface RotationPlan {
  /** Oldest first. */
  readonly remove: readonly string[]
  readonly compress: readonly string[]
}

/**
 * Plans the cleanup before a rotation, after which the rotated and the new log fit within `maxFiles`. Also
 * removes leftovers of interrupted compression.
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

/** Suffix of a rotated log: `20261115-155731`. */
export function rotatedName(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')
}
