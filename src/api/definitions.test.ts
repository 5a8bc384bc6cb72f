import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  definition,
  definitionNames,
  kindsOf,
  referenceOf,
  structDefinition,
  unionOf,
} from './definitions.ts'
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from './metadata.ts'
import type { Field, Schema } from './schema.ts'

/** A field in short notation: its type, patch strategy and default. */
function show({ schema, required, patch, default: fallback }: Field): string {
  const words = Object.entries(patch ?? {}).flatMap(([word, value]) => (value === true ? [word] : []))
  const strategy = words.length > 0 ? ` ${words.join('+')}` : ''
  const key = patch?.mergeKey === undefined ? '' : ` by ${patch.mergeKey}`
  const absent = fallback === undefined ? '' : ` or ${JSON.stringify(fallback)}`
  return `${showSchema(schema)}${required ? ' required' : ''}${absent}${strategy}${key}`
}

function showSchema(schema: Schema): string {
  if (schema.type === 'list') {
    return `${schema.listType} list(${schema.keys.join()}) of ${showSchema(schema.items)}`
  }
  if (schema.type === 'map') return `${schema.atomic ? 'atomic ' : ''}map of ${showSchema(schema.values)}`
  if (schema.type === 'struct') return `${schema.atomic ? 'atomic ' : ''}${schema.name.split('.').pop()}`
  if (schema.type === 'any') return `any ${schema.name?.split('.').pop()}`
  return schema.format === undefined ? schema.type : `${schema.type}:${schema.format}`
}

function check(path: string, expected: string): void {
  const dot = path.lastIndexOf('.')
  const field = structDefinition(path.slice(0, dot)).fields.get(path.slice(dot + 1))
  assert.equal(field && show(field), expected, path)
}

test('fields have the types, list types and patch strategies of the API', () => {
  check('core.v1.ServicePort.port', 'integer:int32 required')
  check('core.v1.ServicePort.targetPort', 'int-or-string')
  check('core.v1.Container.args', 'atomic list() of string')
  check('core.v1.Container.ports', 'map list(containerPort,protocol) of ContainerPort merge by containerPort')
  check('core.v1.PodSpec.containers', 'map list(name) of Container required merge by name')
  check('core.v1.PodSpec.volumes', 'map list(name) of Volume merge+retainKeys by name')
  check('core.v1.PodSpec.nodeSelector', 'atomic map of string')
  check('core.v1.PodSpec.terminationGracePeriodSeconds', 'integer:int64')
  check('core.v1.PodStatus.hostIPs', 'atomic list() of HostIP merge by ip')
  check('core.v1.NodeSpec.podCIDRs', 'set list() of string merge')
  check('core.v1.ResourceRequirements.limits', 'map of quantity')
  check('core.v1.ResourceRequirements.claims', 'map list(name) of ResourceClaim')
  check('core.v1.Secret.data', 'map of string:byte')
  check('core.v1.ObjectReference.name', 'string')
  check('core.v1.LocalObjectReference.name', 'string or ""')
  check('core.v1.ServicePort.protocol', 'string or "TCP"')
  check('core.v1.Event.eventTime', 'string:date-time-micro')
  check('apps.v1.ControllerRevision.data', 'any RawExtension')
  check('apps.v1.DeploymentSpec.strategy', 'DeploymentStrategy or {} retainKeys')
  check('apps.v1.DeploymentSpec.selector', 'atomic LabelSelector required')
  check('policy.v1.PodDisruptionBudgetSpec.selector', 'atomic LabelSelector replace')
  check('authorization.v1.NonResourceRule.verbs', 'atomic list() of string required')
  check('authentication.v1.UserInfo.extra', 'map of atomic list() of string')
  check('meta.v1.ObjectMeta.creationTimestamp', 'string:date-time')
  check('meta.v1.ManagedFieldsEntry.fieldsV1', 'any FieldsV1')
  check('apiextensions.v1.CustomResourceSubresources.status', 'CustomResourceSubresourceStatus')
  check(
    'apiextensions.v1.JSONSchemaProps.x-kubernetes-validations',
    'map list(rule) of ValidationRule merge by rule',
  )
})

test('a field may be granular although its definition is atomic', () => {
  check('core.v1.PersistentVolumeSpec.claimRef', 'ObjectReference')
  check('core.v1.Event.involvedObject', 'atomic ObjectReference required or {}')
  const claim = structDefinition('core.v1.PersistentVolumeSpec').fields.get('claimRef')?.schema
  assert.ok(claim?.type === 'struct')
  assert.equal(claim.fields, structDefinition('core.v1.ObjectReference').fields)
})

test('recursive definitions are one cyclic value', () => {
  const schema = structDefinition('apiextensions.v1.JSONSchemaProps')
  const [not, properties, allOf] = ['not', 'properties', 'allOf'].map(name => schema.fields.get(name)?.schema)
  assert.equal(not, schema)
  assert.ok(properties?.type === 'map' && properties.values === schema)
  assert.ok(allOf?.type === 'list' && allOf.items === schema)
})

test('every definition resolves with all its references', () => {
  const seen = new Set<Schema>()
  const visit = (schema: Schema): void => {
    if (seen.has(schema)) return
    seen.add(schema)
    if (schema.type === 'list') visit(schema.items)
    if (schema.type === 'map') visit(schema.values)
    if (schema.type === 'struct') for (const field of schema.fields.values()) visit(field.schema)
  }
  for (const name of definitionNames()) visit(definition(name))
  assert.ok(seen.size > definitionNames().length)
})

test('unknown and inherited definition names are rejected', () => {
  for (const name of ['core.v1.Nothing', '', '__proto__', 'constructor', 'toString']) {
    assert.throws(() => definition(name), /unknown definition/)
  }
})

test('kinds have their group and version, shared kinds all of them', () => {
  assert.deepEqual(kindsOf('core.v1.Pod'), [{ group: '', version: 'v1', kind: 'Pod' }])
  assert.deepEqual(kindsOf('rbac.v1.RoleList'), [
    { group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'RoleList' },
  ])
  assert.deepEqual(kindsOf('core.v1.PodSpec'), [])
  assert.deepEqual(kindsOf('core.v1.ObjectReference'), [])
  assert.deepEqual(kindsOf('meta.v1.Status'), [{ group: '', version: 'v1', kind: 'Status' }])
  const everywhere = kindsOf('meta.v1.DeleteOptions')
  assert.deepEqual(everywhere[0], { group: '', version: 'v1', kind: 'DeleteOptions' })
  assert.ok(everywhere.some(({ group, version }) => group === 'extensions' && version === 'v1beta1'))
})

test('structs, open values, quantities and times have OpenAPI names', () => {
  const references = (path: string, field: string): string | undefined => {
    const schema = structDefinition(path).fields.get(field)?.schema
    return schema && referenceOf(schema)
  }
  assert.equal(references('core.v1.Pod', 'spec'), 'io.k8s.api.core.v1.PodSpec')
  assert.equal(references('core.v1.Pod', 'kind'), undefined)
  assert.equal(
    references('core.v1.ServicePort', 'targetPort'),
    'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  )
  assert.equal(references('core.v1.Event', 'eventTime'), 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime')
  assert.equal(
    references('apiextensions.v1.JSONSchemaProps', 'default'),
    'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON',
  )
})

test('unions have their discriminator, if any', () => {
  assert.deepEqual(unionOf('core.v1.SeccompProfile'), {
    'discriminator': 'type',
    'fields-to-discriminateBy': { localhostProfile: 'LocalhostProfile' },
  })
  assert.equal(unionOf('core.v1.Pod'), undefined)
})

test('handwritten metadata types match the definitions', () => {
  const meta: Record<keyof ObjectMeta, true> = {
    annotations: true,
    creationTimestamp: true,
    deletionGracePeriodSeconds: true,
    deletionTimestamp: true,
    finalizers: true,
    generateName: true,
    generation: true,
    labels: true,
    managedFields: true,
    name: true,
    namespace: true,
    ownerReferences: true,
    resourceVersion: true,
    selfLink: true,
    uid: true,
  }
  const owner: Record<keyof OwnerReference, true> = {
    apiVersion: true,
    blockOwnerDeletion: true,
    controller: true,
    kind: true,
    name: true,
    uid: true,
  }
  const entry: Record<keyof ManagedFieldsEntry, true> = {
    apiVersion: true,
    fieldsType: true,
    fieldsV1: true,
    manager: true,
    operation: true,
    subresource: true,
    time: true,
  }
  const types = { ObjectMeta: meta, OwnerReference: owner, ManagedFieldsEntry: entry }
  for (const [name, keys] of Object.entries(types)) {
    assert.deepEqual([...structDefinition(`meta.v1.${name}`).fields.keys()].sort(), Object.keys(keys).sort())
  }
})
