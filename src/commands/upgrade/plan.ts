/** `k8ts upgrade plan`. */
import { readLockHolder } from '#/cluster/lock-folder.ts'
import { printObject } from '#/kubeadm/print-object.ts'
import { formatUpgradePlan, planUpgrade, upgradePlanFields } from '#/kubeadm/upgrade-plan.ts'
import { checkVersionSkew } from '#/kubeadm/upgrade-versions.ts'
import { dataFolder } from '../data-folder.ts'
import type { SubcommandInvocation } from '../subcommands.ts'
import { kubeletVersions, programVersion, readUpgradeFacts, type ClusterFlags } from './facts.ts'
import { requireProgramVersion } from './preflight.ts'
import { describeStoredVersions } from './stored-versions.ts'
import { connectCluster } from '../cluster-connection.ts'

type PlanFlags = ClusterFlags & { readonly output?: 'text' | 'json' | 'yaml' }

/** Exits with 1 when the version skew policy forbids the upgrade. */
export async function showPlan({
  platform,
  terminal,
  words,
  flags,
}: Pick<SubcommandInvocation<never>, 'platform' | 'terminal' | 'words'> & {
  readonly flags: PlanFlags
}): Promise<number> {
  requireProgramVersion(words[0])
  const { output = 'text' } = flags
  const holder = await readLockHolder(platform, dataFolder(flags))
  const facts = await readUpgradeFacts(
    platform,
    flags,
    holder !== undefined && holder.processes === undefined,
  )
  const plan = planUpgrade(facts, programVersion)
  if (output !== 'text') {
    terminal.write(printObject('UpgradePlan', upgradePlanFields(plan), output))
    return 0
  }
  const { clusterVersion: cluster, target } = plan
  terminal.write(`[upgrade/versions] Cluster version: ${cluster}
[upgrade/versions] k8ts version: ${target}

${formatUpgradePlan(plan)}`)
  await using connection = await connectCluster(platform, flags)
  terminal.write(await describeStoredVersions(connection.client))
  const problems = checkVersionSkew({ cluster, target, kubelets: kubeletVersions(facts) })
  for (const { message } of problems) terminal.writeError(`[upgrade/versions] ${message}\n`)
  return problems.length === 0 ? 0 : 1
}
