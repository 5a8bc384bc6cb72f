import type { KubernetesObject } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { DescribeWriter } from './describe-writer.ts'

/** Writes the description of an object of one kind. The object has no nulls. */
export type Describer<T extends KubernetesObject = KubernetesObject> = (
  object: T,
  context: DescribeContext,
) => Promise<void> | void

export interface DescribeOptions {
  /** For related objects and events. */
  readonly client: Client
  readonly showEvents: boolean
  /** Maximum number of objects in a page of a list; 0 for no limit. */
  readonly chunkSize: number
  readonly nowMs: number
  /** IANA time zone in which times are shown. */
  readonly timeZone: string
}

export interface DescribeContext extends DescribeOptions {
  readonly writer: DescribeWriter
}
