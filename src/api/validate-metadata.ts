/**
 * Validation of object metadata on creation and update. The check for names depends on the kind and is passed
 * in. Names have already been generated from `generateName`.
 */
import { forbiddenField, invalid, invalidEach, required, tooLong, type FieldError } from './field-error.ts'
import { formatGroupVersionKind, groupVersionKindOf } from './group-version.ts'
import { compareInt64, type Int64 } from './text/int64.ts'
import { equalJson } from './text/json-value.ts'
import { validateLabels } from './labels.ts'
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from './metadata.ts'
import {
  checkBuiltInFinalizerName,
  checkDns1123Label,
  checkFinalizerName,
  checkQualifiedName,
  foregroundFinalizer,
  orphanFinalizer,
  type NameRule,
} from './names.ts'
import { quote } from './text/quote.ts'

export interface MetadataRules {
  readonly names: NameRule
  readonly namespaced: boolean
  /** True if finalizers must be qualified (`example.com/cleanup`) or standard, as for most built-in kinds. */
  readonly qualifiedFinalizers?: boolean
}

/** Validates the metadata of a new object. */
export function validateMetadata(
  metadata: ObjectMeta,
  rules: MetadataRules,
  field = 'metadata',
): FieldError[] {
  const { finalizers = [], managedFields = [] } = metadata
  return [
    ...validateNames(metadata, rules.names, field),
    ...validateNamespace(metadata.namespace ?? '', rules.namespaced, `${field}.namespace`),
    ...validateGeneration(metadata.generation, `${field}.generation`),
    ...validateCommon(metadata, field),
    ...validateFinalizers(finalizers, `${field}.finalizers`),
    ...validateManagedFields(managedFields, `${field}.managedFields`),
    ...(rules.qualifiedFinalizers ? validateQualifiedFinalizers(finalizers, `${field}.finalizers`) : []),
  ]
}

/**
 * Validates the metadata of an update. As in Kubernetes, an error is reported by each of the checks that finds it:
 * that of all objects, that of all updates, and that of the kind.
 */
export function validateMetadataUpdate(
  metadata: ObjectMeta,
  old: ObjectMeta,
  rules: Pick<MetadataRules, 'qualifiedFinalizers'> & { readonly once?: boolean } = {},
): FieldError[] {
  const field = 'metadata'
  const { finalizers = [], managedFields = [] } = metadata
  const common = validateCommon(metadata, field, old)
  const ofManagers = validateManagedFields(managedFields, `${field}.managedFields`)
  const ofUpdate = [...validateMetadataChanges(metadata, old, field), ...common, ...ofManagers]
  const ofFinalizers =
    finalizers === old.finalizers ? [] : validateFinalizers(finalizers, `${field}.finalizers`)
  return [
    ...validateGeneration(metadata.generation, `${field}.generation`),
    ...common,
    ...ofFinalizers,
    ...ofManagers,
    ...ofUpdate,
    ...(rules.once ? [] : ofUpdate),
    ...(rules.qualifiedFinalizers ? validateQualifiedFinalizers(finalizers, `${field}.finalizers`) : []),
  ]
}

function validateMetadataChanges(metadata: ObjectMeta, old: ObjectMeta, field: string): FieldError[] {
  const errors: FieldError[] = []
  if (old.deletionTimestamp !== undefined) {
    errors.push(...validateNoNewFinalizers(metadata, old, `${field}.finalizers`))
  }
  if (!metadata.resourceVersion) {
    errors.push(invalid(`${field}.resourceVersion`, '', 'must be specified for an update'))
  }
  if (compareInt64(metadata.generation ?? 0, old.generation ?? 0) < 0) {
    errors.push(invalid(`${field}.generation`, metadata.generation ?? 0, 'must not be decremented'))
  }
  for (const [name, empty] of immutableFields) {
    if (metadata[name] === old[name]) continue
    errors.push(...validateImmutable(metadata[name] ?? empty, old[name] ?? empty, `${field}.${name}`))
  }
  return errors
}

export function validateImmutable(value: unknown, old: unknown, field: string): FieldError[] {
  return equalJson(value, old) ? [] : [invalid(field, value, 'field is immutable')]
}

function validateQualifiedFinalizers(finalizers: readonly string[], field: string): FieldError[] {
  return finalizers.flatMap((finalizer, index) => {
    return invalidEach(`${field}[${index}]`, finalizer, checkBuiltInFinalizerName(finalizer))
  })
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>>,
  field: string,
): FieldError[] {
  const errors: FieldError[] = []
  let sizeBytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    for (const message of checkQualifiedName(key.toLowerCase())) errors.push(invalid(field, key, message))
    sizeBytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  if (sizeBytes > annotationsBytesMax) errors.push(tooLong(field, annotationsBytesMax))
  return errors
}

/** At most 128 printable bytes. */
export function validateFieldManager(manager: string, field: string): FieldError[] {
  if (usualManager.test(manager)) return []
  const errors: FieldError[] = []
  if (Buffer.byteLength(manager) > fieldManagerBytesMax) errors.push(tooLong(field, fieldManagerBytesMax))
  let position = 0
  for (const character of manager) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      errors.push(invalid(field, manager, `invalid character U+${code} (at position ${position})`))
      if (errors.length > managerErrorsMax) break
    }
    position += Buffer.byteLength(character)
  }
  return errors
}

/** Fast path for almost all names. */
const usualManager = /^[\x20-\x7e]{0,128}$/

/** Maximum total size of all annotation keys and values. */
const annotationsBytesMax = 256 * 1024
const fieldManagerBytesMax = 128
const subresourceBytesMax = 256
/** Maximum number of reported characters per manager name: each error repeats the whole name. */
const managerErrorsMax = 10

/** With the value that stands for absent. */
const immutableFields = [
  ['name', ''],
  ['namespace', ''],
  ['uid', ''],
  ['creationTimestamp', null],
  ['deletionTimestamp', null],
  ['deletionGracePeriodSeconds', null],
] as const

function validateNames(metadata: ObjectMeta, names: NameRule, field: string): FieldError[] {
  const { name, generateName } = metadata
  const prefixField = `${field}.generateName`
  const errors = generateName ? invalidEach(prefixField, generateName, names.prefix(generateName)) : []
  if (!name) return [...errors, required(`${field}.name`, 'name or generateName is required')]
  return [...errors, ...invalidEach(`${field}.name`, name, names.name(name))]
}

function validateNamespace(namespace: string, namespaced: boolean, field: string): FieldError[] {
  if (!namespaced) return namespace === '' ? [] : [forbiddenField(field, 'not allowed on this type')]
  if (namespace === '') return [required(field, '')]
  return invalidEach(field, namespace, checkDns1123Label(namespace))
}

function validateGeneration(generation: Int64 | undefined, field: string): FieldError[] {
  const isNegative = generation !== undefined && generation < 0
  return isNegative ? [invalid(field, generation, 'must be greater than or equal to 0')] : []
}

/**
 * Checks for new and updated objects. Values identical by reference to those of the old object are skipped.
 */
function validateCommon(metadata: ObjectMeta, field: string, old?: ObjectMeta): FieldError[] {
  const { labels, annotations, ownerReferences } = metadata
  const errors: FieldError[] = []
  if (labels !== old?.labels) errors.push(...validateLabels(`${field}.labels`, labels))
  if (annotations !== old?.annotations) {
    errors.push(...validateAnnotations(annotations ?? {}, `${field}.annotations`))
  }
  if (ownerReferences !== old?.ownerReferences) {
    errors.push(...validateOwnerReferences(ownerReferences ?? [], `${field}.ownerReferences`))
  }
  return errors
}

function validateOwnerReferences(references: readonly OwnerReference[], field: string): FieldError[] {
  const errors = references.flatMap(reference => validateOwnerReference(reference, field))
  const controllers = references.filter(reference => reference.controller === true)
  const [first] = controllers
  for (const other of controllers.slice(1, superfluousControllersMax + 1)) {
    const names = `${first?.kind}/${first?.name} and ${other.kind}/${other.name}`
    const detail =
      'Only one reference can have Controller set to true. ' + `Found "true" in references for ${names}`
    errors.push(invalid(field, references.map(inOrder), detail))
  }
  return errors
}

/** Maximum number of reported extra controllers: each error repeats all references. */
const superfluousControllersMax = 10

function validateOwnerReference(reference: OwnerReference, field: string): FieldError[] {
  const { apiVersion, kind, name, uid } = reference
  const groupVersionKind = groupVersionKindOf(reference)
  const errors: FieldError[] = []
  if (!groupVersionKind?.version) {
    errors.push(invalid(`${field}.apiVersion`, apiVersion, 'version must not be empty'))
  }
  if (!kind) errors.push(invalid(`${field}.kind`, kind, 'must not be empty'))
  if (!name) errors.push(invalid(`${field}.name`, name, 'must not be empty'))
  if (!uid) errors.push(invalid(`${field}.uid`, uid, 'must not be empty'))
  // Events expire after an hour, which would delete their dependents.
  if (groupVersionKind && apiVersion === 'v1' && kind === 'Event') {
    const owner = formatGroupVersionKind(groupVersionKind)
    errors.push(invalid(field, inOrder(reference), `${owner} is disallowed from being an owner`))
  }
  return errors
}

/** Messages show references with fields in the order of the API. */
function inOrder(reference: OwnerReference): OwnerReference {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller !== undefined && { controller }),
    ...(blockOwnerDeletion !== undefined && { blockOwnerDeletion }),
  }
}

function validateFinalizers(finalizers: readonly string[], field: string): FieldError[] {
  const errors = finalizers.flatMap(finalizer => invalidEach(field, finalizer, checkFinalizerName(finalizer)))
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const detail = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`
    errors.push(invalid(field, finalizers, detail))
  }
  return errors
}

function validateNoNewFinalizers(metadata: ObjectMeta, old: ObjectMeta, field: string): FieldError[] {
  const known = new Set(old.finalizers)
  const added = [...new Set(metadata.finalizers)].filter(finalizer => !known.has(finalizer)).sort()
  if (added.length === 0) return []
  // Formatted as Go prints a list.
  const list = `[]string{${added.map(quote).join(', ')}}`
  const detail =
    'no new finalizers can be added if the object is being deleted, ' + `found new finalizers ${list}`
  return [forbiddenField(field, detail)]
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[], field: string): FieldError[] {
  return entries.flatMap((entry, index) => validateManagedFieldsEntry(entry, `${field}[${index}]`))
}

function validateManagedFieldsEntry(entry: ManagedFieldsEntry, field: string): FieldError[] {
  const { operation = '', fieldsType = '', manager = '', subresource = '' } = entry
  const errors: FieldError[] = []
  if (operation !== 'Apply' && operation !== 'Update') {
    errors.push(invalid(`${field}.operation`, operation, 'must be `Apply` or `Update`'))
  }
  if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
    errors.push(invalid(`${field}.fieldsType`, fieldsType, 'must be `FieldsV1`'))
  }
  errors.push(...validateFieldManager(manager, `${field}.manager`))
  if (Buffer.byteLength(subresource) > subresourceBytesMax) {
    errors.push(tooLong(`${field}.subresource`, subresourceBytesMax))
  }
  return errors
}
