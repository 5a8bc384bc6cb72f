import type { ReplicaSet } from '#/api/generated/apps/v1.ts'

/**
 * What a ReplicaSet and a replication controller have in common, in the words of the former. The selector of the
 * latter is plain labels; who compiles it knows.
 */
export type ReplicatedSet = Pick<ReplicaSet, 'apiVersion' | 'kind' | 'metadata' | 'spec' | 'status'>
