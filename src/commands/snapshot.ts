/** `k8ts snapshot`: saves and restores all objects of a cluster. */
import { join, resolve } from 'node:path'
import { boolFlag, describeFlags, UsageError } from '#/base/flags.ts'
import { embeddedStorePlace, snapshotsFolder } from '#/cluster/open-store.ts'
import { lowerPriority } from '#/platform/node.ts'
import { hashContent } from '#/store/content.ts'
import { writeToEtcd } from '#/store/migrate.ts'
import {
  describeSnapshot,
  listSnapshots,
  openEmbeddedContent,
  openSnapshot,
  restoreSnapshot,
  saveSnapshot,
  SnapshotDamagedError,
} from '#/store/snapshot.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { hostEtcdConnection } from './host-store.ts'
import {
  etcdConnection,
  formatBytes,
  lockCluster,
  lockStoppedCluster,
  openEtcdStore,
  type EtcdConnection,
  storeFlag,
} from './opened-store.ts'
import { commandWithVerbs, type Invocation } from './verbs.ts'

const flags = {
  ...dataFolderFlag,
  store: storeFlag,
  force: boolFlag('restore: replace a store that is intact, or that of another cluster'),
}

const help = `Usage: k8ts snapshot save FILE [--data-dir DIR] [--store STORE]
       k8ts snapshot restore FILE [--data-dir DIR] [--store STORE] [--force]
       k8ts snapshot status FILE
       k8ts snapshot ls [--data-dir DIR]

save     saves all objects at one revision to a file, which must not exist. The cluster may be running; everything is
         verified while it is read.
restore  replaces the objects of a stopped cluster by those of a snapshot: a file, or a folder of DIR/snapshots. The
         embedded store must be missing or damaged; with --force also an intact one is replaced. The old files are kept
         as DIR/store.replaced-TIME. The revision jumps far ahead, so that clients list again. An etcd must be empty.
status   verifies a snapshot and shows its revision, time, size, number of keys and hash. Exits with 1 if it is damaged.
ls       lists DIR/snapshots, where k8ts up takes a snapshot every hour (--snapshot-interval, --snapshot-retention).

On a host of k8ts init or k8ts join the store is that of its API server.
A snapshot has the objects only: Secrets in it are encrypted with the key in DIR/pki, which must be kept apart.

${describeFlags(flags)}
Examples:
  k8ts snapshot save /backup/monday.k8ts
      saves the running cluster
  k8ts snapshot ls && k8ts snapshot restore ~/.k8ts/snapshots/scheduled-20260131T120000Z --force
      returns to the state of noon; stop the cluster before
  k8ts snapshot save /backup/etcd.k8ts --store etcd://10.0.0.1:2379
      saves the objects of a cluster whose store is an etcd
  k8ts snapshot status /backup/monday.k8ts
`

export const command = commandWithVerbs({
  name: 'snapshot',
  help,
  flags,
  takesArguments: true,
  verbs: new Map([
    ['save', save],
    ['restore', restore],
    ['status', status],
    ['ls', ls],
  ]),
})

type Given = Invocation<typeof flags>

async function save({ platform, terminal, words, flags }: Given): Promise<number> {
  const path = fileOf(words, 'save')
  lowerPriority()
  const connection = await etcdOf(platform, flags)
  await using etcd = connection && (await openEtcdStore(platform, connection))
  const folder = dataFolder(flags)
  await using _ = etcd ? undefined : await lockStoppedCluster(platform, folder, 'k8ts snapshot save')
  await using content = etcd
    ? await etcd.readContent()
    : await openEmbeddedContent(platform, embeddedStorePlace(folder))
  const { revision, keyCount, sizeBytes, hash } = await saveSnapshot(platform, content, path)
  terminal.write(
    `saved ${keyCount} keys at revision ${revision} to ${path}, ${formatBytes(sizeBytes)}\nhash ${hash}\n`,
  )
  return 0
}

async function restore({ platform, terminal, words, flags }: Given): Promise<number> {
  const path = fileOf(words, 'restore')
  const connection = await etcdOf(platform, flags)
  await using snapshot = await openSnapshot(platform, path)
  if (connection) {
    await using etcd = await openEtcdStore(platform, connection)
    const { keyCount, hash } = await writeToEtcd(platform, snapshot, etcd)
    terminal.write(`restored ${keyCount} keys to etcd\nhash ${hash}\n`)
    return 0
  }
  const folder = dataFolder(flags)
  await using _ = await lockCluster(platform, folder, 'k8ts snapshot restore')
  const place = embeddedStorePlace(folder)
  const restored = await restoreSnapshot({ platform, snapshot, place, force: flags.force ?? false })
  const { keyCount, revision, keptIn, hash } = restored
  terminal.write(
    `restored ${keyCount} keys of revision ${snapshot.revision}; the store continues at ${revision}\nhash ${hash}\n`,
  )
  if (keptIn) terminal.write(`the old store is in ${keptIn}: remove it when it is not needed any more\n`)
  return 0
}

/** Undefined for the embedded store. */
async function etcdOf(
  platform: Given['platform'],
  flags: Given['flags'],
): Promise<EtcdConnection | undefined> {
  return flags.store ? etcdConnection(flags.store) : hostEtcdConnection(platform, dataFolder(flags))
}

async function status({ platform, terminal, words }: Given): Promise<number> {
  const path = fileOf(words, 'status')
  try {
    await using content = await openSnapshot(platform, path)
    const { hash, keyCount } = await hashContent(content)
    const snapshot = await describeSnapshot(platform, path)
    terminal.write(`revision  ${content.revision}
time      ${new Date(snapshot?.savedMs ?? 0).toISOString()}
keys      ${keyCount}
size      ${formatBytes(snapshot?.sizeBytes ?? 0)}
store     ${content.storeId}
hash      ${hash}
intact    yes
`)
    return 0
  } catch (error) {
    if (!(error instanceof SnapshotDamagedError)) throw error
    terminal.writeError(`${error.message}\n`)
    return 1
  }
}

async function ls({ platform, terminal, words, flags }: Given): Promise<number> {
  if (words.length > 0) throw new UsageError('usage: k8ts snapshot ls [--data-dir DIR]')
  const folder = snapshotsFolder(dataFolder(flags))
  const snapshots = await listSnapshots(platform, folder)
  const names = (await platform.files.stat(folder)) ? await platform.files.list(folder) : []
  for (const path of names.map(name => join(folder, name)))
    if (!path.endsWith('.partial') && snapshots.every(snapshot => snapshot.path !== path))
      terminal.writeError(`${path} is no snapshot, or damaged: see k8ts snapshot status ${path}\n`)
  if (snapshots.length === 0) {
    terminal.write(`no snapshots in ${folder}: k8ts up takes them every hour, k8ts snapshot save at once\n`)
    return 0
  }
  const rows = snapshots.map(({ path, savedMs, revision, sizeBytes }) => [
    new Date(savedMs).toISOString().replace(/\.\d+/u, ''),
    String(revision),
    formatBytes(sizeBytes),
    path,
  ])
  const table = [['TIME', 'REVISION', 'SIZE', 'PATH'], ...rows]
  const widths = [0, 1, 2].map(column => Math.max(...table.map(row => row[column]!.length)))
  const line = (row: readonly string[]): string =>
    `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')}\n`
  terminal.write(table.map(line).join(''))
  return 0
}

function fileOf(words: readonly string[], verb: string): string {
  const [path, ...others] = words
  if (path === undefined || others.length > 0) throw new UsageError(`usage: k8ts snapshot ${verb} FILE`)
  return resolve(path)
}
