const units = ['B', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'] as const

/** `23.4 Gi`: with the suffixes of quantities. */
export function formatBytes(bytes: number): string {
  const exponent = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)))
  return `${(bytes / 1_024 ** exponent).toFixed(exponent > 2 ? 1 : 0)} ${units[exponent]}`
}
