/** `k8ts store`: verifies, repairs and migrates the store of a cluster. */
import { boolFlag, describeFlags, UsageError } from '#/base/flags.ts'
import { embeddedStorePlace } from '#/cluster/open-store.ts'
import { lowerPriority } from '#/platform/node.ts'
import { checkStore, type CheckedSegment } from '#/store/check.ts'
import { migrateToEmbedded, writeToEtcd } from '#/store/migrate.ts'
import { repairStore, type Loss } from '#/store/repair.ts'
import { describeDamage, openEmbeddedContent } from '#/store/snapshot.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import {
  etcdConnection,
  formatBytes,
  lockCluster,
  lockStoppedCluster,
  openEtcdStore,
  storeFlag,
} from './opened-store.ts'
import { commandWithVerbs, type Invocation } from './verbs.ts'

const flags = {
  ...dataFolderFlag,
  'accept-loss': boolFlag('repair: continue without what is damaged'),
  'from': { ...storeFlag, help: 'migrate: the store to read, embedded (default) or etcd://HOST:PORT,...' },
  'to': { ...storeFlag, help: 'migrate: the store to write, embedded or etcd://HOST:PORT,...' },
  'force': boolFlag('migrate: replace an embedded store that is intact'),
}

const help = `Usage: k8ts store check [--data-dir DIR]
       k8ts store repair [--accept-loss] [--data-dir DIR]
       k8ts store migrate --to STORE [--from STORE] [--data-dir DIR] [--force]

check    verifies all files of the embedded store, also while the cluster is running, and changes nothing. Shows
         segments, revisions, keys, a hash over all keys and values, and each damage. Exits with 1 if it is damaged.
repair   shows what is lost in the damaged store of a stopped cluster. With --accept-loss it writes a new store with all
         intact objects and keeps the old files as DIR/store.damaged-TIME. The revision jumps far ahead, so that all
         clients list again. Objects whose deletion is lost appear again. Restore a snapshot instead if there is a
         recent one: k8ts snapshot ls.
migrate  copies all objects of a stopped cluster from the embedded store to an empty etcd, or back, and compares both.
         The source is not changed. Objects are unchanged; their revisions are those of the new store.

${describeFlags(flags)}
Examples:
  k8ts store check
  k8ts store repair && k8ts store repair --accept-loss
  k8ts store migrate --to etcd://10.0.0.1:2379 && k8ts up --store etcd://10.0.0.1:2379
      continues a cluster with an etcd
  k8ts store migrate --from etcd://10.0.0.1:2379 --to embedded --force && k8ts up
      and back; the embedded store of before is kept as DIR/store.replaced-TIME
`

export const command = commandWithVerbs({
  name: 'store',
  help,
  flags,
  takesArguments: false,
  verbs: new Map([
    ['check', check],
    ['repair', repair],
    ['migrate', migrate],
  ]),
})

type Given = Invocation<typeof flags>

async function check({ platform, terminal, flags }: Given): Promise<number> {
  lowerPriority()
  const folder = dataFolder(flags)
  await using _ = await lockStoppedCluster(platform, folder, 'k8ts store check')
  const place = embeddedStorePlace(folder)
  const { storeId, revision, compacted, segments, content, damages } = await checkStore(platform, place)
  if (storeId === undefined && damages.length === 0) throw missing(place.folder)
  for (const segment of segments) terminal.write(describeSegment(segment))
  const sum = (of: (segment: CheckedSegment) => number): string =>
    formatBytes(segments.reduce((total, segment) => total + of(segment), 0))
  terminal.write(`store     ${storeId}
revision  ${revision}, compacted ${compacted}
size      ${sum(each => each.fileBytes)}
live      ${sum(each => each.liveBytes)}
garbage   ${sum(each => each.garbageBytes)}
`)
  if (content) {
    terminal.write(`keys      ${content.keyCount}\nhash      ${content.hash}\nintact    yes\n`)
    return 0
  }
  for (const damage of damages) terminal.writeError(`damage: ${describeDamage(damage)}\n`)
  terminal.writeError(
    'Stop the cluster, then restore a snapshot (k8ts snapshot ls), or see what a repair loses: k8ts store repair\n',
  )
  return 1
}

function describeSegment({ name, fileBytes, liveBytes, garbageBytes, revisions }: CheckedSegment): string {
  const range = revisions ? `, revisions ${revisions.first} to ${revisions.last}` : ''
  const sizes = [fileBytes, liveBytes, garbageBytes].map(formatBytes)
  return `${name}  ${sizes[0]}: live ${sizes[1]}, garbage ${sizes[2]}${range}\n`
}

async function repair({ platform, terminal, flags }: Given): Promise<number> {
  const folder = dataFolder(flags)
  const place = embeddedStorePlace(folder)
  await using _ = await lockCluster(platform, folder, 'k8ts store repair')
  const acceptsLoss = flags['accept-loss'] ?? false
  const result = await repairStore({ platform, place, acceptsLoss })
  if (result.state === 'missing') throw missing(place.folder)
  if (result.state === 'intact') {
    terminal.write(`the store in ${place.folder} is intact: nothing to repair\n`)
    return 0
  }
  const { damages, loss, repaired } = result
  for (const damage of damages) terminal.write(`damage: ${describeDamage(damage)}\n`)
  terminal.write(describeLoss(loss))
  if (repaired === undefined) {
    terminal.write(
      'Nothing was changed. Restore a snapshot (k8ts snapshot ls), or repeat this with --accept-loss\n',
    )
    return 1
  }
  terminal.write(`repaired: ${repaired.keyCount} keys; the store continues at revision ${repaired.revision}
hash ${repaired.hash}
${repaired.keptIn ? `the damaged store is in ${repaired.keptIn}\n` : ''}`)
  return 0
}

function describeLoss({ revisions, keys, compacted, keptCount }: Loss): string {
  const lines = revisions.map(({ first, last }) =>
    first === last ? `lost: revision ${first}\n` : `lost: revisions ${first} to ${last}\n`,
  )
  for (const { key, revision, newestIntact } of keys) {
    const instead =
      newestIntact === undefined ? 'no other revision is left' : `revision ${newestIntact} is left`
    lines.push(`lost: ${key} at revision ${revision}; ${instead}\n`)
  }
  if (lines.length === 0) lines.push('lost: nothing that is known\n')
  if (compacted > 0) lines.push(`losses up to revision ${compacted}, which was compacted, leave no trace\n`)
  return `${lines.join('')}intact: ${keptCount} keys\n`
}

async function migrate({ platform, terminal, flags }: Given): Promise<number> {
  if (flags.to === undefined) throw new UsageError('--to is required: embedded, or etcd://HOST:PORT,...')
  const [from, to] = [etcdConnection(flags.from), etcdConnection(flags.to)]
  if ((from === undefined) === (to === undefined))
    throw new UsageError('--from and --to must be one embedded store and one etcd')
  const folder = dataFolder(flags)
  const place = embeddedStorePlace(folder)
  await using _ = await lockCluster(platform, folder, 'k8ts store migrate')
  await using etcd = await openEtcdStore(platform, from ?? to!)
  if (to) {
    await using content = await openEmbeddedContent(platform, place)
    const { keyCount, hash } = await writeToEtcd(platform, content, etcd)
    terminal.write(`copied ${keyCount} keys to etcd; both stores have hash ${hash}
continue with: k8ts up --store etcd://${to.endpoints.join(',')}
`)
    return 0
  }
  const migrated = await migrateToEmbedded({ platform, source: etcd, place, force: flags.force ?? false })
  terminal.write(`copied ${migrated.keyCount} keys to ${place.folder}; both stores have hash ${migrated.hash}
${migrated.keptIn ? `the old embedded store is in ${migrated.keptIn}\n` : ''}continue with: k8ts up
`)
  return 0
}

function missing(folder: string): Error {
  return new Error(`there is no store in ${folder}: check --data-dir, and --store if it is in etcd`)
}
