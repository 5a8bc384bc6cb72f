/** The store: durable writes beside a real etcd, watching, a million keys, and space. */
import { benchMillionKeys } from './store/million-keys.ts'
import { benchSpace } from './store/space.ts'
import { benchWatch } from './store/watch.ts'
import { benchWrites } from './store/writes.ts'

await benchWrites()
await benchWatch()
await benchMillionKeys()
await benchSpace()
