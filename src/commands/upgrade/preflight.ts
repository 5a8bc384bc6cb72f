/** The checks before an upgrade: what is wrong is said before anything is changed. */
import { UsageError } from '#/base/flags.ts'
import { readDataFolderRecord, dataFolderFormat } from '#/cluster/data-folder-format.ts'
import type { PreflightProblem } from '#/kubeadm/preflight.ts'
import { formatPreflight, ignorePreflightErrors } from '#/kubeadm/preflight.ts'
import { checkVersionSkew, isVersionOf, oldestVersion } from '#/kubeadm/upgrade-versions.ts'
import type { UpgradeFacts } from '#/kubeadm/upgrade-plan.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { Platform } from '#/platform/node.ts'
import { kubeletVersions, programVersion } from './facts.ts'

/** Throws UsageError for another version than that of this program. */
export function requireProgramVersion(given: string | undefined): void {
  if (given === undefined || isVersionOf(given, programVersion)) return
  throw new UsageError(
    `this is ${programVersion}, which cannot upgrade to ${given}: run k8ts upgrade of the package of that version`,
  )
}

export interface CheckUpgradeOptions {
  readonly platform: Platform
  readonly terminal: Terminal
  readonly folder: string
  readonly facts: UpgradeFacts
  readonly isForced: boolean
  readonly ignored: readonly string[]
}

/** True if the upgrade may go on. */
export async function checkUpgrade(options: CheckUpgradeOptions): Promise<boolean> {
  const { terminal, facts, isForced, ignored } = options
  const cluster = oldestVersion(facts.apiServers.map(({ version }) => version)) ?? ''
  terminal.write(`[upgrade/versions] Cluster version: ${cluster}
[upgrade/versions] k8ts version: ${programVersion}
`)
  const skew = checkVersionSkew({ cluster, target: programVersion, kubelets: kubeletVersions(facts) })
  const problems = [
    ...skew.map(({ isMandatory, message }): PreflightProblem => {
      return { check: 'VersionSkew', severity: isForced && !isMandatory ? 'warning' : 'error', message }
    }),
    ...(await checkNodes(facts)),
    ...(await checkFormat(options)),
  ]
  const shown = ignorePreflightErrors(problems, ignored)
  terminal.writeError(formatPreflight(shown))
  return shown.every(({ severity }) => severity !== 'error')
}

async function checkNodes({ nodes }: UpgradeFacts): Promise<readonly PreflightProblem[]> {
  const notReady = nodes.filter(({ status }) =>
    status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state !== 'True'),
  )
  const names = notReady.map(({ metadata }) => metadata.name).join(', ')
  const message = `there are nodes that are not Ready: ${names}; see kubectl describe node`
  return notReady.length === 0 ? [] : [{ check: 'NodesHealth', severity: 'error', message }]
}

/** After a new format the program of before cannot continue. */
async function checkFormat({ platform, folder }: CheckUpgradeOptions): Promise<readonly PreflightProblem[]> {
  const record = await readDataFolderRecord(platform.files, folder)
  if (record === undefined || record.format === dataFolderFormat) return []
  const way = 'to go back, restore the snapshot of before the upgrade with that version'
  const message = `the data directory gets format ${dataFolderFormat}, which k8ts ${record.k8ts} cannot read: ${way}`
  return [{ check: 'DataFormat', severity: 'warning', message }]
}
