/** The in-memory store, for tests and simulation. */
import type { Platform } from '#/platform/platform.ts'
import { History } from './local/history.ts'
import { LocalStore } from './local/local-store.ts'

export interface MemoryStoreOptions {
  readonly platform: Platform
}

export class MemoryStore extends LocalStore {
  static async open({ platform }: MemoryStoreOptions): Promise<MemoryStore> {
    return new MemoryStore({ platform, history: new History() })
  }
}
