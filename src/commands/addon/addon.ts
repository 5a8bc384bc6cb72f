import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'

/** The cluster in which an addon is enabled. */
export interface AddonTarget {
  readonly platform: Platform
  readonly client: Client
}

/** Objects of the cluster that a user can add and remove as a whole. */
export interface Addon {
  readonly summary: string
  /** Adds the objects, or brings them up to date, and waits until they can be used. Returns a message. */
  enable(target: AddonTarget): Promise<string>
  /** Throws Error with the reason if the addon is in use, unless `force` is set. */
  disable(target: AddonTarget, options: { readonly force: boolean }): Promise<void>
  isEnabled(target: AddonTarget): Promise<boolean>
}
