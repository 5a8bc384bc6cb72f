/** The `/version` document. */

/** Build and platform information; missing parts are optional. */
export interface Build {
  /** Version of k8ts, e.g. `0.1.0`. */
  readonly version: string
  readonly commit?: string
  /** RFC 3339. */
  readonly date?: string
  /** E.g. `node26.10.0`. */
  readonly runtime?: string
  /** E.g. `linux/arm64`. */
  readonly platform?: string
}

export interface VersionInfo {
  readonly major: string
  readonly minor: string
  readonly emulationMajor: string
  readonly emulationMinor: string
  readonly minCompatibilityMajor: string
  readonly minCompatibilityMinor: string
  readonly gitVersion: string
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
  readonly goVersion: string
  readonly compiler: string
  readonly platform: string
}

/** The Kubernetes release of the served API. */
const release = { major: 1, minor: 36, patch: 4 }

/** Such as `1.36.4`. */
export const kubernetesVersion = `${release.major}.${release.minor}.${release.patch}`

export function gitVersion({ version }: Pick<Build, 'version'>): string {
  return `v${kubernetesVersion}+k8ts.${version}`
}

export function versionInfo(build: Build): VersionInfo {
  const { commit = '', date = '1970-01-01T00:00:00Z', runtime = 'node', platform = 'linux/amd64' } = build
  const [major, minor] = [String(release.major), String(release.minor)]
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(release.minor - 1),
    gitVersion: gitVersion(build),
    gitCommit: commit,
    gitTreeState: commit === '' ? '' : 'clean',
    buildDate: date,
    // The API's field name; it holds the JavaScript runtime.
    goVersion: runtime,
    compiler: 'v8',
    platform,
  }
}
