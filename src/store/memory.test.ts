import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from './memory.ts'
import { storeConformance } from './store.conformance.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

storeConformance('memory', () => MemoryStore.open({ platform }))
