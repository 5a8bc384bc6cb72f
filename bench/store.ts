/**
 * Benchmarks the store: durable writes compared with a real etcd, watches, a million keys, and disk usage.
 */
import { benchMillionKeys } from './store/million-keys.ts'
import { benchSpace } from './store/space.ts'
import { benchWatch } from './store/watch.ts'
import { benchWrites } from './store/writes.ts'

await benchWrites()
await benchWatch()
await benchMillionKeys()
await benchSpace()
