/**
 * Benchmarks the store: durable writes compared with a real etcd, watches, a million keys, disk usage, and snapshots.
 */
import { benchMillionKeys } from './store/million-keys.ts'
import { benchSnapshot } from './store/snapshot.ts'
import { benchSpace } from './store/space.ts'
import { benchWatch } from './store/watch.ts'
import { benchWrites } from './store/writes.ts'

await benchWrites()
await benchWatch()
await benchMillionKeys()
await benchSpace()
await benchSnapshot()
