import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
} from '#/api/generated/rbac/v1.ts'
import type { Describer } from './describer.ts'
import { byText } from './sections/containers.ts'
import { describeAnnotations, describeLabels } from './sections/metadata.ts'

/** Of a namespace or of the cluster. */
export const describeRole: Describer<Role | ClusterRole> = (role, { writer }) => {
  writer.fields(0, [['Name', role.metadata.name ?? '']])
  describeLabels(writer, role)
  describeAnnotations(writer, role)
  writer.write(0, 'PolicyRule:\n')
  writer.rows(1, [
    ['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs'],
    ['---------', '-----------------', '--------------', '-----'],
    ...byText(permissionsOf(role.rules), sortText).map(permission => {
      const { url, name, verbs } = permission
      return [resourceText(permission), listText(url), listText(name), `[${verbs.join(' ')}]`]
    }),
  ])
}

/** The verbs for one resource, one named object or one URL. */
interface Permission {
  readonly group?: string
  readonly resource?: string
  readonly name?: string
  readonly url?: string
  readonly verbs: readonly string[]
}

/** Collects the verbs of all rules for the same resource; those of a URL remain apart. */
function permissionsOf(rules: readonly PolicyRule[] = []): Permission[] {
  const resources = new Map<string, Permission>()
  const urls: Permission[] = []
  for (const rule of rules) {
    for (const target of targetsOf(rule)) {
      const key = JSON.stringify([target.group, target.resource, target.name])
      const verbs = new Set([...(resources.get(key)?.verbs ?? []), ...rule.verbs])
      if (verbs.size > 0) resources.set(key, { ...target, verbs: [...verbs] })
    }
    for (const url of rule.nonResourceURLs ?? []) {
      for (const verb of rule.verbs) urls.push({ url, verbs: [verb] })
    }
  }
  return [...urls, ...resources.values()]
}

function targetsOf({
  apiGroups = [],
  resources = [],
  resourceNames = [],
}: PolicyRule): Omit<Permission, 'verbs'>[] {
  return apiGroups.flatMap(group => {
    return resources.flatMap(resource => {
      if (resourceNames.length === 0) return [{ group, resource }]
      return resourceNames.map(name => ({ group, resource, name }))
    })
  })
}

/** The order of kubectl, which sorts rules by their text. */
function sortText({ group, resource, name, url, verbs }: Permission): string {
  const [groups, resources, names, urls] = [group, resource, name, url].map(listText)
  const lists = `Verbs:[${verbs.join(' ')}],APIGroups:${groups},Resources:${resources}`
  return `${lists},ResourceNames:${names},NonResourceURLs:${urls},`
}

/** `deployments.apps/scale`. */
function resourceText({ group, resource }: Permission): string {
  if (resource === undefined) return ''
  const [plural = '', ...subresource] = resource.split('/')
  return [group ? `${plural}.${group}` : plural, ...subresource].join('/')
}

function listText(item: string | undefined): string {
  return item === undefined ? '[]' : `[${item}]`
}

/** Of a namespace or of the cluster. */
export const describeRoleBinding: Describer<RoleBinding | ClusterRoleBinding> = (binding, { writer }) => {
  const { metadata, roleRef, subjects = [] } = binding
  writer.fields(0, [['Name', metadata.name ?? '']])
  describeLabels(writer, binding)
  describeAnnotations(writer, binding)
  writer.write(0, 'Role:\n')
  writer.fields(1, [
    ['Kind', roleRef.kind],
    ['Name', roleRef.name],
  ])
  writer.write(0, 'Subjects:\n')
  writer.rows(1, [
    ['Kind', 'Name', 'Namespace'],
    ['----', '----', '---------'],
    ...subjects.map(({ kind, name, namespace = '' }) => [kind, name, namespace]),
  ])
}
