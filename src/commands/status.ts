/** `k8ts status`: shows if a cluster runs on this machine, and its state. */
import { isTrue } from '#/api/conditions.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { describeFlags, parseFlags } from '#/base/flags.ts'
import { processLogPath, readHostProcessRecords } from '#/cluster/host-process-records.ts'
import { readLockHolder, type LockHolder } from '#/cluster/lock-folder.ts'
import { snapshotsFolder } from '#/cluster/open-store.ts'
import type { Command } from '#/command-line/command.ts'
import { nodePlatform } from '#/platform/node.ts'
import { listSnapshots, type Snapshot } from '#/store/snapshot.ts'
import { connectCluster } from './cluster-connection.ts'
import { adminKubeconfig, dataFolder, dataFolderFlag, kubectlSetup } from './data-folder.ts'

const help = `Usage: k8ts status [--data-dir DIR]

Shows the state of the cluster in this folder: the URL of the API server, restarts after a crash, alarms of the store, a
failed snapshot, a slow disk, the history of objects, rules of services that cannot be written, the processes of a host,
nodes and pods. Exits with 0 if the cluster is ready and there is no such trouble, otherwise with 1.

${describeFlags(dataFolderFlag)}
Examples:
  k8ts status
  k8ts status --data-dir /tmp/other || k8ts up --detach --data-dir /tmp/other
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const folder = dataFolder(parseFlags(parameters, dataFolderFlag))
    const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
    const owner = await readLockHolder(platform, folder)
    if (owner === undefined) {
      const isHost = (await readHostProcessRecords(platform.files, folder)).length > 0
      terminal.write(
        isHost
          ? `the processes of this host, ${folder}, are not running: start them with k8ts host start\n`
          : `no cluster is running in ${folder}: start it with k8ts up\n`,
      )
      return 1
    }
    if (owner.command !== undefined) {
      terminal.write(
        `no cluster is running in ${folder}, which ${owner.command} uses, process ${owner.pid}\n`,
      )
      return 1
    }
    const { alarms = [] } = owner
    terminal.write(describeOwner(owner, platform.clock.now()))
    for (const { type, message } of alarms) terminal.write(`store alarm ${type}: ${message}\n`)
    terminal.write(describeStoreTroubles(owner, platform.clock.now()))
    terminal.write(describeHistoryTroubles(owner))
    terminal.write(describeServiceProxy(owner))
    terminal.write(describeProcesses(owner, folder))
    if (!owner.isReady) return 1
    // A worker has no kubeconfig of an administrator.
    if ((await platform.files.stat(adminKubeconfig(folder))) === undefined) return 0
    const objects = await readObjects(folder)
    terminal.write(describeNodes(objects.nodes))
    terminal.write(describePods(objects.pods))
    const snapshots = await listSnapshots(platform, snapshotsFolder(folder))
    terminal.write(describeSnapshots(snapshots, platform.clock.now()))
    terminal.write(describeHistory(owner, platform.clock.now()))
    terminal.write(`${kubectlSetup(adminKubeconfig(folder))}\n`)
    const failures = [owner.serviceProxy?.failure, owner.history?.failure]
    const isSound = alarms.length === 0 && failures.every(failure => failure === undefined)
    return objects.nodes.every(isReady) && isSound ? 0 : 1
  },
}

async function readObjects(
  folder: string,
): Promise<{ readonly nodes: readonly Node[]; readonly pods: readonly Pod[] }> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  await using cluster = await connectCluster(platform, { 'data-dir': folder })
  const { client } = cluster
  const [allNodes, allPods] = await Promise.all([client.listAll(nodes), client.listAll(pods)])
  return { nodes: allNodes.items, pods: allPods.items }
}

function describeOwner(owner: LockHolder, nowMs: number): string {
  const { pid, supervisorPid, startedMs } = owner
  const supervisor = supervisorPid === undefined ? '' : `, supervisor ${supervisorPid}`
  const age = describeMinutes(nowMs - startedMs)
  return `${describeState(owner, nowMs)}, process ${pid}${supervisor}, for ${age}\n${describeCrash(owner, nowMs)}`
}

function describeState({ isReady: ready, url, backOffUntilMs }: LockHolder, nowMs: number): string {
  if (ready) return url === undefined ? 'ready' : `ready at ${url}`
  if (backOffUntilMs === undefined) return 'starting'
  return `starting in ${Math.ceil(Math.max(0, backOffUntilMs - nowMs) / 1_000)} s`
}

function describeCrash({ crash }: LockHolder, nowMs: number): string {
  if (crash === undefined) return ''
  const { restarts, crashedMs, reason } = crash
  const times = restarts === 1 ? 'once' : `${restarts} times`
  return `restarted ${times} after a crash, the last ${describeMinutes(nowMs - crashedMs)} ago: ${reason}\n`
}

function describeMinutes(durationMs: number): string {
  const minutes = Math.floor(durationMs / 60_000)
  return minutes < 1 ? 'less than a minute' : `${minutes} min`
}

function describeStoreTroubles({ slowSync, snapshotFailure }: LockHolder, nowMs: number): string {
  const failed = snapshotFailure === undefined ? '' : `the last snapshot failed: ${snapshotFailure}\n`
  const agoMs = slowSync ? nowMs - slowSync.endedMs : Infinity
  if (slowSync === undefined || agoMs > slowSyncShownMs) return failed
  const took = (slowSync.tookMs / 1_000).toFixed(1)
  return `${failed}slow disk: a sync of the store took ${took} s, ${describeMinutes(agoMs)} ago\n`
}

function describeHistoryTroubles({ history }: LockHolder): string {
  if (history === undefined) return ''
  const { failure, fallback, damagedSegments = 0, lostRecords = 0 } = history
  const troubles = [
    failure !== undefined && `cannot be written: ${failure}`,
    fallback !== undefined && `kept in memory, because of ${fallback}`,
    lostRecords > 0 && `${lostRecords} versions could not be written and are lost`,
    damagedSegments > 0 && `${damagedSegments} damaged segments, which cannot be read`,
  ]
  return troubles
    .filter(line => line !== false)
    .map(line => `history: ${line}\n`)
    .join('')
}

function describeHistory({ history }: LockHolder, nowMs: number): string {
  if (history === undefined) return ''
  const { sizeBytes, retainedSince } = history
  const age = retainedSince ? `, complete for ${describeMinutes(nowMs - retainedSince.timeMs)}` : ''
  return `history: ${(sizeBytes / 1024 ** 2).toFixed(1)} MiB${age}\n`
}

function describeServiceProxy({ serviceProxy }: LockHolder): string {
  const { mode, fallback, failure } = serviceProxy ?? {}
  const fellBack = fallback === undefined ? '' : `service proxy: mode ${mode}, since ${fallback}\n`
  const failed =
    failure === undefined ? '' : `service proxy: cannot write the ${mode} rules of services: ${failure}\n`
  return fellBack + failed
}

/** A disk that was slow long ago does not explain what is slow now. */
const slowSyncShownMs = 3_600_000

function describeProcesses({ ingress, processes = [] }: LockHolder, folder: string): string {
  const lines = [...processes, ...(ingress ? [ingress] : [])].map(({ name, pid, restarts }) => {
    const state = pid === undefined ? 'not running' : `process ${pid}`
    const restarted = restarts === 0 ? '' : `, restarts: ${restarts}, log: ${processLogPath(folder, name)}`
    return `${name}: ${state}${restarted}\n`
  })
  return lines.join('')
}

function describeNodes(all: readonly Node[]): string {
  if (all.length === 0) return 'no nodes\n'
  const lines = all.map(node => {
    const { metadata, status } = node
    const runtime = status?.nodeInfo?.containerRuntimeVersion ?? ''
    return `node ${metadata.name}: ${isReady(node) ? 'Ready' : 'NotReady'}${runtime && `, ${runtime}`}\n`
  })
  const shown = lines.slice(0, nodesShownMax)
  const rest = lines.length - shown.length
  return [...shown, rest > 0 ? `and ${rest} more nodes\n` : ''].join('')
}

const nodesShownMax = 10

function describePods(all: readonly Pod[]): string {
  const counts = Map.groupBy(all, pod => pod.status?.phase ?? 'Pending')
  const parts = [...counts].map(([phase, those]) => `${those.length} ${phase}`)
  return `pods: ${parts.length === 0 ? 'none' : parts.join(', ')}\n`
}

function describeSnapshots(snapshots: readonly Snapshot[], nowMs: number): string {
  const last = snapshots.at(-1)
  if (last === undefined) return ''
  return `snapshots: ${snapshots.length}, the last ${describeMinutes(nowMs - last.savedMs)} ago\n`
}

function isReady({ status }: Node): boolean {
  return isTrue(status?.conditions, 'Ready')
}
