/**
 * Compares API versions by stability, as clients and discovery prefer them: `v2`, `v1`, `v1beta2`, `v1beta1`,
 * `v1alpha1`; other names come last, in alphabetical order.
 */
export function compareVersions(a: string, b: string): number {
  const left = parseVersion(a)
  const right = parseVersion(b)
  if (!left || !right) {
    if (left || right) return left ? -1 : 1
    return compareText(a, b)
  }
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor
}

/** True if the version is neither alpha nor beta. */
export function isStableVersion(version: string): boolean {
  return parseVersion(version)?.stability === stable
}

const stabilities: Readonly<Record<string, number>> = { alpha: 0, beta: 1 }
const stable = 2

interface ParsedVersion {
  readonly stability: number
  readonly major: number
  readonly minor: number
}

function parseVersion(version: string): ParsedVersion | undefined {
  const parts = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/.exec(version)
  if (!parts) return undefined
  const [, major, stage, minor] = parts
  return {
    stability: stage === undefined ? stable : (stabilities[stage] ?? stable),
    major: Number(major),
    minor: Number(minor ?? 0),
  }
}

function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
