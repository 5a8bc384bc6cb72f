import type { ReplicaSet } from '#/api/generated/apps/v1.ts'

/**
 * Common type of ReplicaSet and ReplicationController, with the fields of the former. The selector of a
 * ReplicationController is a plain label map, which the caller that compiles it must handle.
 */
export type ReplicaSetLike = Pick<ReplicaSet, 'apiVersion' | 'kind' | 'metadata' | 'spec' | 'status'>
