import type { JsonObject } from '#/api/text/json-object.ts'
import { stringArrayFlag } from '../flag-types.ts'

export const subjectFlags = {
  group: stringArrayFlag('Group that gets the role; may be repeated.'),
  serviceaccount: stringArrayFlag('Service account that gets the role, NAMESPACE:NAME; may be repeated.'),
  user: stringArrayFlag('User that gets the role; may be repeated.'),
}

interface SubjectFlagValues {
  readonly group?: readonly string[]
  readonly serviceaccount?: readonly string[]
  readonly user?: readonly string[]
}

const apiGroup = 'rbac.authorization.k8s.io'

/** The fields of a binding. Throws Error for a service account without namespace. */
export function planBinding(
  { group = [], serviceaccount = [], user = [] }: SubjectFlagValues,
  role: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string },
): { readonly subjects?: JsonObject[]; readonly roleRef: JsonObject } {
  const subjects: JsonObject[] = [
    ...user.map(name => ({ kind: 'User', apiGroup, name })),
    ...group.map(name => ({ kind: 'Group', apiGroup, name })),
    ...serviceaccount.map(parseServiceAccount),
  ]
  return { ...(subjects.length > 0 && { subjects }), roleRef: { apiGroup, kind: role.kind, name: role.name } }
}

function parseServiceAccount(text: string): JsonObject {
  const [namespace, name, ...more] = text.split(':')
  if (!namespace || !name || more.length > 0) throw new Error('serviceaccount must be <namespace>:<name>')
  return { kind: 'ServiceAccount', name, namespace }
}
