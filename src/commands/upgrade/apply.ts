/** `k8ts upgrade apply`: a cluster of `k8ts up`, or the first control plane host of several. */
import { join } from 'node:path'
import { isTrue } from '#/api/conditions.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { UsageError } from '#/base/flags.ts'
import type { Client } from '#/client/client.ts'
import { embeddedStorePlace, snapshotsFolder } from '#/cluster/open-store.ts'
import { upgradeDnsRights } from '#/dns/ensure-dns.ts'
import { fetchClusterConfiguration } from '#/kubeadm/stored-configuration.ts'
import { ensureRoleBindings } from '#/kubeadm/role-bindings.ts'
import { updateKubernetesVersion } from '#/kubeadm/upload-config.ts'
import { findLauncher, readInputLine, type Platform } from '#/platform/node.ts'
import { openEmbeddedContent, saveSnapshot, timeName } from '#/store/snapshot.ts'
import { connectCluster } from '../cluster-connection.ts'
import { dataFolder } from '../data-folder.ts'
import type { SubcommandInvocation } from '../subcommands.ts'
import type { ApplyFlags } from '../upgrade.ts'
import { programVersion, readUpgradeFacts, readVersion } from './facts.ts'
import { renewHostCertificates, upgradeKubeletConfig } from './host-files.ts'
import { checkUpgrade, requireProgramVersion } from './preflight.ts'
import { readReplacedProcess, type ReplacedProcess } from './replace-process.ts'
import { replaceOrRollBack } from './roll-back.ts'
import { migrateStoredVersions } from './stored-versions.ts'

type Invocation = SubcommandInvocation<ApplyFlags>

export interface UpgradeRun extends Pick<Invocation, 'platform' | 'terminal' | 'flags'> {
  readonly folder: string
  /** Path of this program. */
  readonly launcher: string
  readonly replaced: ReplacedProcess
  /** True for `k8ts host run`, which runs the components as processes. */
  readonly isHost: boolean
}

const applyPhases = ['preflight', 'control-plane', 'upload-config', 'kubelet-config', 'post-upgrade'] as const

export async function applyUpgrade(invocation: Invocation): Promise<number> {
  const { platform, terminal, flags, words } = invocation
  requireProgramVersion(words[0])
  const skips = skippedPhases(flags['skip-phases'], applyPhases)
  const run = await startUpgrade(invocation)
  terminal.write('[upgrade/preflight] Running preflight checks\n')
  const facts = await readUpgradeFacts(platform, flags, !run.isHost)
  const checked = {
    platform,
    terminal,
    folder: run.folder,
    facts,
    isForced: flags.force === true,
    ignored: flags['ignore-preflight-errors'] ?? [],
  }
  if (!skips('preflight') && !(await checkUpgrade(checked))) return 1
  if (flags['dry-run']) {
    terminal.write('[upgrade/successful] Finished dryrunning successfully!\n')
    return 0
  }
  if (!(await confirm(run))) return 1
  if (!skips('control-plane')) {
    await snapshotBefore(run)
    if (run.isHost) await renewHostCertificates(run)
    if (!(await replaceOrRollBack(run))) return 1
  }
  if (run.isHost && !skips('upload-config')) await uploadConfig(run)
  if (run.isHost && !skips('kubelet-config')) await upgradeKubeletConfig(run)
  if (!skips('post-upgrade')) await finish(run)
  return 0
}

/** Throws Error when there is nothing to upgrade here. */
export async function startUpgrade(
  invocation: Pick<Invocation, 'platform' | 'terminal' | 'flags'>,
): Promise<UpgradeRun> {
  const { platform, terminal, flags } = invocation
  const folder = dataFolder(flags)
  const launcher = findLauncher()
  if (launcher === undefined) throw new Error('run the upgrade by the program k8ts of the new package')
  const replaced = await readReplacedProcess(platform, folder)
  if (replaced === undefined)
    throw new Error(
      `no cluster is running in ${folder}: start it with this k8ts, which continues with its data`,
    )
  return {
    platform,
    terminal,
    flags,
    folder,
    launcher,
    replaced,
    isHost: replaced.holder.processes !== undefined,
  }
}

/** Throws UsageError for a phase that does not exist. */
export function skippedPhases<P extends string>(
  given: readonly string[] | undefined,
  phases: readonly P[],
): (phase: P) => boolean {
  const unknown = given?.find(name => !phases.some(phase => phase === name))
  if (unknown !== undefined)
    throw new UsageError(`--skip-phases: there is no phase ${unknown}, only ${phases.join(', ')}`)
  return phase => given?.includes(phase) === true
}

async function confirm({ terminal, flags }: UpgradeRun): Promise<boolean> {
  if (flags.yes || flags.force) return true
  terminal.write('[upgrade] Are you sure you want to proceed? [y/N]: ')
  if (/^y(es)?$/i.test((await readInputLine()).trim())) return true
  terminal.writeError('[upgrade] Aborted: answer y, or add --yes\n')
  return false
}

async function snapshotBefore({ platform, terminal, folder }: UpgradeRun): Promise<void> {
  const path = await saveBeforeUpgrade(platform, folder)
  terminal.write(
    path === undefined
      ? '[upgrade/snapshot] The store is not in this directory: take a snapshot of etcd with etcdctl snapshot save\n'
      : `[upgrade/snapshot] Saved ${path}\n`,
  )
}

/** Resolves to the path of the snapshot; undefined when the store is in etcd or in memory. */
async function saveBeforeUpgrade(platform: Platform, folder: string): Promise<string | undefined> {
  const { files, clock } = platform
  const place = embeddedStorePlace(folder)
  if ((await files.stat(join(place.folder, 'mark'))) === undefined) return undefined
  const snapshots = snapshotsFolder(folder)
  await files.makeFolder(snapshots, { mode: 0o700 })
  const path = join(snapshots, `before-upgrade-${timeName(clock.now())}.k8ts`)
  await using content = await openEmbeddedContent(platform, place)
  await saveSnapshot(platform, content, path)
  return path
}

async function uploadConfig({ platform, terminal, flags }: UpgradeRun): Promise<void> {
  await using cluster = await connectCluster(platform, flags)
  const configuration = await fetchClusterConfiguration(cluster.client)
  await updateKubernetesVersion(cluster.client, configuration, programVersion)
  terminal.write(
    '[upload-config] Storing the configuration used in ConfigMap "kubeadm-config" in the "kube-system" Namespace\n',
  )
}

async function finish({ platform, terminal, flags, isHost }: UpgradeRun): Promise<void> {
  await using cluster = await connectCluster(platform, flags)
  const { client } = cluster
  const onProgress = (line: string): void => terminal.write(`[upgrade/post-upgrade] ${line}\n`)
  if (isHost) await upgradeDnsRights(client)
  await migrateStoredVersions({ platform, client, onProgress })
  // Components of this version may need rights that those of the previous one did not.
  if (isHost) await ensureRoleBindings(client, platform.log)
  const version = await readVersion(client)
  const what = isHost ? 'A control plane node of your cluster' : 'Your cluster'
  terminal.write(`[upgrade] SUCCESS! ${what} was upgraded to "${version}".\n`)
  const older = isHost ? await olderNodes(client) : []
  if (older.length > 0)
    terminal.write(
      `[upgrade] Now run k8ts upgrade node of this version on the other hosts: ${older.join(', ')}\n`,
    )
}

async function olderNodes(client: Client): Promise<readonly string[]> {
  const { items } = await client.listAll(nodes)
  const others = items.filter(({ status }) => status?.nodeInfo?.kubeletVersion !== programVersion)
  return others.map(
    ({ metadata, status }) => `${metadata.name}${isTrue(status?.conditions, 'Ready') ? '' : ' (NotReady)'}`,
  )
}
