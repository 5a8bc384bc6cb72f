/**
 * The checks of a host before `init` and `join`, with kubeadm's names: decisions about facts of the machine, which
 * `read-machine-facts.ts` reads. Each problem is one line that says what to do.
 * https://kubernetes.io/docs/reference/setup-tools/kubeadm/implementation-details/#preflight-checks
 */
import { compareSemanticVersions, parseSemanticVersionLeniently } from '#/api/text/semantic-version.ts'

export interface PreflightProblem {
  /** `NumCPU`, `Port-6443`. */
  readonly check: string
  readonly severity: 'error' | 'warning'
  readonly message: string
}

/** What a host needs. */
export interface PreflightRequirements {
  /** Of the host: a control plane needs more. */
  readonly role: 'control-plane' | 'worker'
  readonly ports: readonly number[]
  /** Folders that must be empty, or not exist. */
  readonly emptyFolders: readonly string[]
  /** Files that must not exist. */
  readonly absentFiles: readonly string[]
  readonly existingFiles: readonly string[]
  readonly programs: readonly RequiredProgram[]
  /** The folder of the host, which needs space. */
  readonly folder: string
  /** Version of the control plane to join; undefined for a new one. */
  readonly controlPlaneVersion?: string | undefined
}

export interface RequiredProgram {
  /** A program in the path, or a CNI plugin as `cni/NAME`. */
  readonly name: string
  /** What does not work without it; without one the node does not work at all. */
  readonly feature?: string | undefined
}

export interface MachineFacts {
  readonly isRoot: boolean
  readonly processors: number
  readonly memoryBytes: number
  readonly swapBytes: number
  readonly kernelVersion: string
  readonly cgroupVersion: 1 | 2
  readonly hostname: string
  readonly freeBytes: number
  /** Of the required ports. */
  readonly takenPorts: readonly number[]
  /** Of the required paths. */
  readonly existingPaths: readonly string[]
  readonly filledFolders: readonly string[]
  readonly missingPrograms: readonly RequiredProgram[]
  /** Sysctls by path, without the final line break. */
  readonly sysctls: Readonly<Record<string, string>>
  /** `v1.36.0` */
  readonly kubeletVersion: string
}

const megabyte = 1_000_000
const controlPlaneProcessors = 2
const controlPlaneMemoryMegabytes = 1_700
const freeMegabytes = 1_000

/** The first kernel whose nftables are sufficient for the service proxy. */
const kernelVersionMin = '5.13.0'

export const forwardingSysctl = '/proc/sys/net/ipv4/ip_forward'

/** In the order in which they are shown. */
export function planPreflight(
  requirements: PreflightRequirements,
  facts: MachineFacts,
): readonly PreflightProblem[] {
  return [
    ...checkResources(requirements, facts),
    ...checkSystem(requirements, facts),
    ...checkPaths(requirements, facts),
    ...facts.missingPrograms.map(missingProgram),
  ]
}

function checkResources(
  { role, ports, folder }: PreflightRequirements,
  facts: MachineFacts,
): PreflightProblem[] {
  const { processors, memoryBytes, swapBytes, freeBytes, takenPorts, isRoot } = facts
  const problems: PreflightProblem[] = []
  if (role === 'control-plane' && processors < controlPlaneProcessors)
    problems.push(
      error(
        'NumCPU',
        `the number of available CPUs ${processors} is less than the required ${controlPlaneProcessors}`,
      ),
    )
  const memory = Math.floor(memoryBytes / megabyte)
  if (role === 'control-plane' && memory < controlPlaneMemoryMegabytes)
    problems.push(
      error(
        'Mem',
        `the system RAM (${memory} MB) is less than the minimum ${controlPlaneMemoryMegabytes} MB`,
      ),
    )
  if (!isRoot)
    problems.push(error('IsPrivilegedUser', 'user is not running as root: run the command with sudo'))
  for (const port of ports)
    if (takenPorts.includes(port))
      problems.push(
        error(
          `Port-${port}`,
          `Port ${port} is in use: stop the process that ss -ltnp sport = :${port} shows`,
        ),
      )
  if (swapBytes > 0) {
    const way = 'configure the kubelet for swap, or disable it with swapoff -a'
    problems.push(warning('Swap', `swap is on, and supported for cgroup v2 only: ${way}`))
  }
  const free = Math.floor(freeBytes / megabyte)
  if (free < freeMegabytes)
    problems.push(
      error('DiskSpace', `${folder} has ${free} MB of free space, at least ${freeMegabytes} MB are needed`),
    )
  return problems
}

function checkSystem(
  { controlPlaneVersion }: PreflightRequirements,
  facts: MachineFacts,
): PreflightProblem[] {
  const { kernelVersion, cgroupVersion, hostname, sysctls, kubeletVersion } = facts
  const problems: PreflightProblem[] = []
  const [numbers = ''] = /^\d+(\.\d+){0,2}/.exec(kernelVersion) ?? []
  if (numbers === '' || isOlder(numbers, kernelVersionMin))
    problems.push(
      error(
        'SystemVerification',
        `kernel ${kernelVersion} is too old: ${kernelVersionMin} or newer is required`,
      ),
    )
  if (cgroupVersion === 1) {
    const way = 'boot with systemd.unified_cgroup_hierarchy=1'
    problems.push(warning('SystemVerification', `cgroups v1 support is in maintenance mode: ${way}`))
  }
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(hostname.toLowerCase()))
    problems.push(error('Hostname', `host name ${JSON.stringify(hostname)} is no DNS name: set --node-name`))
  if (sysctls[forwardingSysctl] !== '1')
    problems.push(
      error(
        `FileContent-${dashed(forwardingSysctl)}`,
        `${forwardingSysctl} contents are not set to 1: sysctl -w net.ipv4.ip_forward=1`,
      ),
    )
  if (controlPlaneVersion !== undefined && isOlder(controlPlaneVersion, kubeletVersion)) {
    const versions = `version ${kubeletVersion} is higher than the control plane version ${controlPlaneVersion}`
    problems.push(error('KubeletVersion', `the kubelet ${versions}: upgrade the control plane first`))
  }
  return problems
}

function checkPaths(requirements: PreflightRequirements, facts: MachineFacts): PreflightProblem[] {
  const { emptyFolders, absentFiles, existingFiles } = requirements
  const { filledFolders, existingPaths } = facts
  const reset = 'remove it, or choose another --data-dir'
  return [
    ...emptyFolders
      .filter(path => filledFolders.includes(path))
      .map(path => error(`DirAvailable-${dashed(path)}`, `${path} is not empty: ${reset}`)),
    ...absentFiles
      .filter(path => existingPaths.includes(path))
      .map(path => error(`FileAvailable-${dashed(path)}`, `${path} already exists: ${reset}`)),
    ...existingFiles
      .filter(path => !existingPaths.includes(path))
      .map(path => error(`FileExisting-${dashed(path)}`, `${path} doesn't exist`)),
  ]
}

function missingProgram({ name, feature }: RequiredProgram): PreflightProblem {
  const check = name === 'containerd' || name === 'runc' ? 'CRI' : `FileExisting-${dashed(name)}`
  if (feature === undefined) return error(check, `${name} not found in system path: install it`)
  return warning(check, `${name} not found in system path: install it for ${feature}`)
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map(parseSemanticVersionLeniently)
  return compareSemanticVersions({ ...a!, preRelease: [] }, { ...b!, preRelease: [] }) < 0
}

function error(check: string, message: string): PreflightProblem {
  return { check, severity: 'error', message }
}

function warning(check: string, message: string): PreflightProblem {
  return { check, severity: 'warning', message }
}

function dashed(path: string): string {
  return path.replaceAll('/', '-')
}

/** The errors of ignored checks become warnings. Names are compared without regard to case; `all` ignores all. */
export function ignorePreflightErrors(
  problems: readonly PreflightProblem[],
  ignored: readonly string[],
): readonly PreflightProblem[] {
  const names = new Set(ignored.map(name => name.toLowerCase()))
  const isIgnored = ({ check }: PreflightProblem): boolean =>
    names.has('all') || names.has(check.toLowerCase())
  return problems.map(problem => (isIgnored(problem) ? { ...problem, severity: 'warning' } : problem))
}

/** In kubeadm's layout. */
export function formatPreflight(problems: readonly PreflightProblem[]): string {
  const lines = (severity: PreflightProblem['severity']): readonly string[] =>
    problems
      .filter(each => each.severity === severity)
      .map(({ check, message }) => `\t[${severity.toUpperCase()} ${check}]: ${message}\n`)
  const errors = lines('error')
  if (errors.length === 0) return lines('warning').join('')
  const hint = 'a check is made non-fatal with --ignore-preflight-errors=NAME'
  return `${lines('warning').join('')}[preflight] Some fatal errors occurred:\n${errors.join('')}[preflight] ${hint}\n`
}
