import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '#/api/generated/rbac/v1.ts'
import { OwnRules } from '../access/own-rules.tsx'
import { whoCan, type AccessObjects, type AccessQuestion, type Grant } from '../access/who-can.ts'
import { ListState } from '../components/list-state.tsx'
import { Notice } from '../components/notice.tsx'
import { findResource, resourceId } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { useObjects } from '../data/subscriptions.ts'
import type { WatchSnapshot } from '../data/watched-list.ts'
import { Card } from '../object/fields.tsx'
import { ObjectLink } from '../object/reference-links.tsx'
import { namespace, replaceQuery, route } from '../router/router.ts'
import { session } from '../data/session.ts'

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', '*']

/** Who may do something, from the roles and bindings that the user may read; and what the user may do. */
export function AccessView(): JSX.Element {
  const { verb = 'get', resource: typed = 'pods', name = '' } = route.value.query
  const within = namespace.value
  const { objects, refused } = useAccessObjects(within)
  const [base = '', subresource] = typed.split('/', 2)
  const resource = findResource(discovery.value.resources, base)
  const question: AccessQuestion = {
    verb,
    group: resource?.group ?? '',
    resource: `${resource?.resource ?? base}${subresource ? `/${subresource}` : ''}`,
    name,
    namespace: resource?.namespaced === false ? '' : within,
  }
  const grants = whoCan(question, objects)
  useEffect(() => {
    document.title = 'Who can - k8ts'
  }, [])
  return (
    <div class="access-view">
      <header class="view-header">
        <h1>Who can</h1>
      </header>
      <QuestionForm verb={verb} resource={typed} name={name} />
      {refused.map(({ what, error }) => (
        <ListState key={what} phase="refused" error={error} what={what} namespace="" isEmpty />
      ))}
      {resource === undefined && discovery.value.phase === 'ready' ? (
        <Notice tone="warn" title={`${base} is not a resource of this cluster`} />
      ) : (
        <Card title={describeQuestion(question)}>
          <GrantTable grants={grants} />
        </Card>
      )}
      <OwnRules namespace={within || session.value?.contextNamespace || 'default'} />
    </div>
  )
}

interface AccessState {
  readonly objects: AccessObjects
  readonly refused: readonly { readonly what: string; readonly error: Error | undefined }[]
}

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const clusterRolesQuery = { path: `${rbac}/clusterroles` }
const clusterRoleBindingsQuery = { path: `${rbac}/clusterrolebindings` }

/** Bindings in other namespaces do not matter for a question about one. */
function useAccessObjects(within: string): AccessState {
  const namespaced = within === '' ? rbac : `${rbac}/namespaces/${encodeURIComponent(within)}`
  const roles = useObjects<Stored<Role>>({ path: `${namespaced}/roles` })
  const clusterRoles = useObjects<Stored<ClusterRole>>(clusterRolesQuery)
  const roleBindings = useObjects<Stored<RoleBinding>>({ path: `${namespaced}/rolebindings` })
  const clusterRoleBindings = useObjects<Stored<ClusterRoleBinding>>(clusterRoleBindingsQuery)
  const all: readonly (readonly [string, WatchSnapshot<object>])[] = [
    ['roles', roles],
    ['clusterroles', clusterRoles],
    ['rolebindings', roleBindings],
    ['clusterrolebindings', clusterRoleBindings],
  ]
  return {
    objects: {
      roles: [...roles.items.values()],
      clusterRoles: [...clusterRoles.items.values()],
      roleBindings: [...roleBindings.items.values()],
      clusterRoleBindings: [...clusterRoleBindings.items.values()],
    },
    refused: all.flatMap(([what, { phase, error }]) => (phase === 'refused' ? [{ what, error }] : [])),
  }
}

type Stored<T> = T & { readonly metadata: object }

interface QuestionFormProps {
  readonly verb: string
  readonly resource: string
  readonly name: string
}

function QuestionForm({ verb, resource, name }: QuestionFormProps): JSX.Element {
  const resources = discovery.value.resources.flatMap(each => {
    const id = resourceId(each)
    return [id, ...each.subresources.map(subresource => `${id}/${subresource}`)]
  })
  return (
    <form class="toolbar" onSubmit={event => event.preventDefault()}>
      <label class="field">
        Verb
        <select value={verb} onChange={event => replaceQuery({ verb: event.currentTarget.value })}>
          {verbs.map(each => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label class="field">
        Resource
        <input
          type="text"
          list="access-resources"
          value={resource}
          onChange={event => replaceQuery({ resource: event.currentTarget.value.trim() })}
        />
      </label>
      <datalist id="access-resources">
        {resources.map(id => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <label class="field">
        Name
        <input
          type="text"
          value={name}
          placeholder="any"
          onChange={event => replaceQuery({ name: event.currentTarget.value.trim() })}
        />
      </label>
    </form>
  )
}

function GrantTable({ grants }: { readonly grants: readonly Grant[] }): JSX.Element {
  if (grants.length === 0) return <p class="detail">No role that can be read grants this.</p>
  return (
    <div class="table-scroll">
      <table class="table is-stacked is-list">
        <thead>
          <tr>
            <th scope="col">Subject</th>
            <th scope="col">Role</th>
            <th scope="col">Binding</th>
          </tr>
        </thead>
        <tbody>
          {grants.map(({ subject, role, binding }, index) => (
            <tr key={index}>
              <td>
                <SubjectName subject={subject} />
              </td>
              <td>
                {role.kind}{' '}
                <ObjectLink
                  resource={`${role.kind}.${role.apiGroup}`}
                  object={{ namespace: binding.namespace, name: role.name }}
                />
              </td>
              <td>
                {binding.kind} <ObjectLink resource={`${binding.kind}.${role.apiGroup}`} object={binding} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function SubjectName({
  subject: { kind, name, namespace: within = '' },
}: {
  readonly subject: Subject
}): JSX.Element {
  if (kind !== 'ServiceAccount') {
    return (
      <>
        {kind} <strong>{name}</strong>
      </>
    )
  }
  return (
    <>
      ServiceAccount {within}/
      <ObjectLink resource="serviceaccounts" object={{ namespace: within, name }} />
    </>
  )
}

function describeQuestion({ verb, resource, name, namespace: within }: AccessQuestion): string {
  const object = name === '' ? resource : `${resource} ${name}`
  return `Who can ${verb} ${object} ${within === '' ? 'in the whole cluster' : `in namespace ${within}`}`
}
