/** `k8ts upgrade node`: a further host of a cluster, control plane or worker. */
import { join } from 'node:path'
import { compareVersions } from '#/kubeadm/upgrade-versions.ts'
import { connectCluster } from '../cluster-connection.ts'
import type { SubcommandInvocation } from '../subcommands.ts'
import type { HostFlags } from '../upgrade.ts'
import { skippedPhases, startUpgrade } from './apply.ts'
import { programVersion, readVersion } from './facts.ts'
import { renewHostCertificates, upgradeKubeletConfig } from './host-files.ts'
import { replaceOrRollBack } from './roll-back.ts'

const nodePhases = ['preflight', 'control-plane', 'kubelet-config'] as const

export async function upgradeNode({
  platform,
  terminal,
  flags,
}: SubcommandInvocation<HostFlags>): Promise<number> {
  const skips = skippedPhases(flags['skip-phases'], nodePhases)
  const run = await startUpgrade({ platform, terminal, flags })
  if (!run.isHost) throw new Error('k8ts up runs all nodes of its cluster: use k8ts upgrade apply')
  if (!skips('preflight')) {
    terminal.write('[upgrade/preflight] Running pre-flight checks\n')
    await using cluster = await connectCluster(platform, { kubeconfig: join(run.folder, 'kubelet.conf') })
    const version = await readVersion(cluster.client)
    if (compareVersions(programVersion, version) > 0) {
      const way = 'run k8ts upgrade apply on the first control plane host before'
      terminal.writeError(
        `[upgrade/preflight] kubelets must not be newer than the API server (${version}): ${way}\n`,
      )
      return 1
    }
  }
  if (flags['dry-run']) {
    terminal.write('[upgrade/successful] Finished dryrunning successfully!\n')
    return 0
  }
  if (!skips('kubelet-config')) await upgradeKubeletConfig(run)
  if (!skips('control-plane')) {
    await renewHostCertificates(run)
    if (!(await replaceOrRollBack(run))) return 1
  }
  terminal.write('[upgrade] The configuration for this node was successfully upgraded!\n')
  return 0
}
