/**
 * The rules of Kubernetes' version skew policy for an upgrade, as kubeadm enforces them.
 * https://kubernetes.io/releases/version-skew-policy/
 */
import { parseSemanticVersionLeniently, type SemanticVersion } from '#/api/text/semantic-version.ts'

export interface UpgradeVersions {
  /** Of the API servers: `v1.36.4+k8ts.0.1.0`. The oldest one if they differ. */
  readonly cluster: string
  /** Of this program, to which it upgrades. */
  readonly target: string
  /** By the names of their nodes. */
  readonly kubelets: ReadonlyMap<string, string>
}

export interface SkewProblem {
  /** A problem that `--force` does not ignore. */
  readonly isMandatory: boolean
  readonly message: string
}

const minorsPerUpgrade = 1
/** A kubelet may be that much older than the API server. */
const kubeletMinorsBehindMax = 3

export function checkVersionSkew({ cluster, target, kubelets }: UpgradeVersions): readonly SkewProblem[] {
  const problems: SkewProblem[] = []
  const mandatory = (message: string): void => void problems.push({ isMandatory: true, message })
  const skippable = (message: string): void => void problems.push({ isMandatory: false, message })
  const [from, to] = [cluster, target].map(minorOf) as [number, number]
  if (to > from + minorsPerUpgrade)
    mandatory(
      `${target} is too high for a cluster of ${cluster}: only ${minorsPerUpgrade} minor version at a time`,
    )
  if (to < from - minorsPerUpgrade)
    mandatory(
      `${target} is too low for a cluster of ${cluster}: only ${minorsPerUpgrade} minor version at a time`,
    )
  const those = (isWrong: (minor: number) => boolean): string =>
    [...kubelets]
      .filter(([, version]) => isWrong(minorOf(version)))
      .map(([node, version]) => `${node} (${version})`)
      .join(', ')
  const newer = those(minor => minor > to)
  if (newer !== '') skippable(`kubelets must not be newer than the API server: ${newer}`)
  const older = those(minor => minor < to - kubeletMinorsBehindMax)
  if (older !== '')
    skippable(`kubelets must not be more than ${kubeletMinorsBehindMax} minor versions older: ${older}`)
  return problems
}

/** `v1.36.4`, `1.36.4`, `0.2.0` and `v1.36.4+k8ts.0.2.0` all name the program `v1.36.4+k8ts.0.2.0`. */
export function isVersionOf(given: string, program: string): boolean {
  const [kubernetes = '', k8ts = ''] = program.split('+k8ts.')
  return [program, kubernetes, k8ts].some(name => withoutV(given) === withoutV(name))
}

/** Of several API servers. */
export function oldestVersion(versions: readonly string[]): string | undefined {
  return versions.toSorted(compareVersions)[0]
}

/** By the version of Kubernetes, then by that of k8ts. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map(text => text.split('+k8ts.').flatMap(part => numbersOf(part)))
  for (let index = 0; index < Math.max(a!.length, b!.length); index++) {
    const difference = (a![index] ?? 0) - (b![index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function minorOf(version: string): number {
  return numbersOf(version)[1] ?? 0
}

function numbersOf(version: string): readonly number[] {
  const { major, minor, patch }: SemanticVersion = parseSemanticVersionLeniently(version)
  return [major, minor, patch].map(Number)
}

function withoutV(version: string): string {
  return version.replace(/^v/, '')
}
