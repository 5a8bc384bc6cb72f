/** The phase `preflight` of init and join. */
import { join } from 'node:path'
import { controllerManagerPort, schedulerPort } from '#/cluster/component-parts.ts'
import { nodePrograms } from '#/cluster/node-programs.ts'
import type { Terminal } from '#/command-line/command.ts'
import { localApiServerPort } from '#/kubeadm/host-processes.ts'
import {
  formatPreflight,
  ignorePreflightErrors,
  planPreflight,
  type PreflightRequirements,
} from '#/kubeadm/preflight.ts'
import { readMachineFacts } from '#/kubeadm/read-machine-facts.ts'
import { isLinux, nodeLinux, type Platform } from '#/platform/node.ts'
import { kubeadmVersion } from './configuration-file.ts'
import { requireUnusedFolder } from './folder-use.ts'

export interface RunPreflightOptions {
  readonly platform: Platform
  readonly terminal: Terminal
  readonly requirements: PreflightRequirements
  readonly ignored: readonly string[]
}

/** Resolves to the exit code. */
export async function runPreflight(options: RunPreflightOptions): Promise<number> {
  const { platform, terminal, requirements, ignored } = options
  if (!isLinux()) throw new Error('a node requires Linux')
  // Every check would fail on a host that is in use, which hides the reason.
  await requireUnusedFolder(platform.files, requirements.folder)
  terminal.write('[preflight] Running pre-flight checks\n')
  const kubeletVersion = `${kubeadmVersion}.0`
  const facts = await readMachineFacts({ platform, linux: await nodeLinux(), requirements, kubeletVersion })
  const problems = ignorePreflightErrors(planPreflight(requirements, facts), ignored)
  terminal.writeError(formatPreflight(problems))
  return problems.some(({ severity }) => severity === 'error') ? 1 : 0
}

/** Of the kubelet, of the service proxy's health checks, and of the balancer of the host. */
const nodePorts: readonly number[] = [10_250, 10_256, localApiServerPort]

const controlPlanePorts: readonly number[] = [schedulerPort, controllerManagerPort]

export interface HostRequirementsOptions {
  readonly role: PreflightRequirements['role']
  readonly folder: string
  /** In addition to those of every host of this role. */
  readonly ports: readonly number[]
}

export function hostRequirements({ role, folder, ports }: HostRequirementsOptions): PreflightRequirements {
  const kubeconfigs = role === 'worker' ? ['kubelet.conf', 'bootstrap-kubelet.conf'] : []
  return {
    role,
    folder,
    ports: [...ports, ...(role === 'worker' ? [] : controlPlanePorts), ...nodePorts],
    emptyFolders: [join(folder, 'manifests'), ...(role === 'worker' ? [] : [join(folder, 'etcd')])],
    absentFiles: kubeconfigs.map(name => join(folder, name)),
    existingFiles: [],
    programs: nodePrograms.map(({ name, feature }) => ({ name, feature })),
  }
}
