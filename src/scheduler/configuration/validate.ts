/** Validation of a decoded configuration, with Kubernetes' messages. */
import { tryParseDurationMs } from '#/api/text/duration.ts'
import {
  duplicate,
  forbiddenField,
  invalid,
  invalidEach,
  required,
  type FieldError,
} from '#/api/field-error.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { checkQualifiedName } from '#/api/names.ts'
import { isExtendedResource } from '#/api/core/pod-resources.ts'
import type {
  ConfigurationFile,
  ExtenderFields,
  LeaderElectionFields,
  PluginSetFields,
  ProfileFields,
} from './fields.ts'

const version = 'kubescheduler.config.k8s.io/v1'

/** Plugins removed from Kubernetes. */
const removed: ReadonlySet<string> = new Set(['AzureDiskLimits', 'CinderLimits', 'EBSLimits', 'GCEPDLimits'])

export function validateConfiguration(file: ConfigurationFile): FieldError[] {
  const { parallelism = 16, profiles = [], extenders = [], clientConnection = {} } = file
  const errors: FieldError[] = []
  if ((clientConnection.burst ?? 0) < 0)
    errors.push(invalid('clientConnection.burst', clientConnection.burst, 'must be non-negative'))
  errors.push(...validateLeaderElection(file.leaderElection ?? {}))
  if (parallelism <= 0) {
    errors.push(invalid('parallelism', parallelism, 'should be an integer value greater than zero'))
  }
  errors.push(...profiles.flatMap((_, index) => validateProfile(profiles, index)))
  errors.push(...validateQueueSort(profiles))
  errors.push(...validatePercentage('percentageOfNodesToScore', file.percentageOfNodesToScore))
  errors.push(...validateBackoff(file))
  return [...errors, ...validateExtenders(extenders)]
}

function validateBackoff(file: ConfigurationFile): FieldError[] {
  const [first, max] = [file.podInitialBackoffSeconds ?? 1, file.podMaxBackoffSeconds ?? 10]
  const detail = 'must be greater than or equal to PodInitialBackoffSeconds'
  return [
    ...(first > 0 ? [] : [invalid('podInitialBackoffSeconds', first, 'must be greater than 0')]),
    ...(max >= first ? [] : [invalid('podMaxBackoffSeconds', max, detail)]),
  ]
}

function validateLeaderElection(fields: LeaderElectionFields): FieldError[] {
  const { leaderElect = true, resourceLock = 'leases' } = fields
  const errors: FieldError[] = []
  const ms = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 }
  for (const name of ['leaseDuration', 'renewDeadline', 'retryPeriod'] as const) {
    const text = fields[name]
    // An absent or zero duration means the default.
    const parsed = text === undefined ? ms[name] : tryParseDurationMs(text)
    if (parsed === undefined) errors.push(invalid(`leaderElection.${name}`, text, 'must be a duration'))
    else if (parsed < 0 && leaderElect)
      errors.push(invalid(`leaderElection.${name}`, text, 'must be greater than zero'))
    ms[name] = parsed || ms[name]
  }
  if (!leaderElect) return errors
  if (ms.leaseDuration <= ms.renewDeadline) {
    const detail = 'must be greater than `RenewDeadline`'
    errors.push(invalid('leaderElection.leaseDuration', fields.leaseDuration, detail))
  }
  if (resourceLock !== 'leases' && resourceLock !== '') {
    const detail = 'resourceLock value must be "leases"'
    errors.push(invalid('leaderElection.resourceLock', resourceLock, detail))
  }
  return errors
}

function validateProfile(profiles: readonly ProfileFields[], index: number): FieldError[] {
  const field = `profiles[${index}]`
  const { schedulerName = '', percentageOfNodesToScore, plugins = {}, pluginConfig = [] } = profiles[index]!
  const errors: FieldError[] = []
  const isNamed = schedulerName !== '' || (profiles.length === 1 && profiles[0]!.schedulerName === undefined)
  if (!isNamed) errors.push(required(`${field}.schedulerName`, ''))
  errors.push(...validatePercentage(`${field}.percentageOfNodesToScore`, percentageOfNodesToScore))
  for (const [point, set] of Object.entries(plugins)) {
    errors.push(...validateSet(`${field}.plugins.${point}`, set))
    if (point.startsWith('placement') && set.enabled?.length)
      errors.push(forbiddenField(`${field}.plugins.${point}.enabled`, 'pods are not placed in groups'))
  }
  const names = pluginConfig.map(({ name = '' }) => name)
  for (const [at, name] of names.entries()) {
    const entry = `${field}.pluginConfig[${at}]`
    if (names.indexOf(name) < at) errors.push(duplicate(entry, name))
    if (removed.has(name)) errors.push(invalid(entry, name, wasInvalid))
    if (name === '') errors.push(required(`${entry}.name`, ''))
  }
  const first = profiles.findIndex(each => each.schedulerName === schedulerName)
  if (schedulerName !== '' && first < index)
    errors.push(duplicate(`${field}.schedulerName`, `profiles[${first}].schedulerName`))
  return errors
}

const wasInvalid = `was invalid in version "v1" (KubeSchedulerConfiguration is version "${version}")`

function validateSet(field: string, { enabled = [], disabled = [] }: PluginSetFields): FieldError[] {
  const names = enabled.map(({ name = '' }) => name)
  return [
    ...names.flatMap((name, index) => {
      const at = `${field}.enabled[${index}]`
      if (name === '') return [required(`${at}.name`, '')]
      if (removed.has(name)) return [invalid(at, name, wasInvalid)]
      return names.indexOf(name) < index ? [duplicate(`${at}.name`, name)] : []
    }),
    ...disabled.flatMap(({ name = '' }, index) =>
      name === '' ? [required(`${field}.disabled[${index}].name`, '')] : [],
    ),
  ]
}

/** All profiles share one queue, so they must have the same queueSort plugin. */
function validateQueueSort(profiles: readonly ProfileFields[]): FieldError[] {
  const sorted = profiles.map(({ plugins }) => plugins?.queueSort ?? {})
  const count = sorted[0]?.enabled?.length ?? 0
  const many =
    count > 1
      ? [invalid('profiles[0].plugins.queueSort.enabled', count, 'only one queue sort plugin can be enabled')]
      : []
  return [
    ...many,
    ...sorted.flatMap((set, index) => {
      if (equalJson(set, sorted[0])) return []
      return [invalid(`profiles[${index}].plugins.queueSort`, set, 'must be the same for all profiles')]
    }),
  ]
}

function validatePercentage(field: string, percentage: number | undefined): FieldError[] {
  const isFine = percentage === undefined || (percentage >= 0 && percentage <= 100)
  return isFine ? [] : [invalid(field, percentage, 'not in valid range [0-100]')]
}

function validateExtenders(extenders: readonly ExtenderFields[]): FieldError[] {
  const resources = new Set<string>()
  const errors = extenders.flatMap((extender, index) => {
    return validateExtender(`extenders[${index}]`, extender, resources)
  })
  const binders = extenders.filter(({ bindVerb }) => bindVerb).length
  if (binders > 1) {
    const detail = 'only one extender can implement bind'
    errors.push(invalid('extenders', `found ${binders} extenders implementing bind`, detail))
  }
  return errors
}

function validateExtender(field: string, extender: ExtenderFields, seen: Set<string>): FieldError[] {
  const { urlPrefix = '', prioritizeVerb, weight = 0, httpTimeout, managedResources = [] } = extender
  const errors: FieldError[] = []
  if (urlPrefix === '') errors.push(required(`${field}.urlPrefix`, ''))
  else if (!isHttpUrl(urlPrefix))
    errors.push(invalid(`${field}.urlPrefix`, urlPrefix, 'must be an address that begins with http or https'))
  if (prioritizeVerb && weight <= 0)
    errors.push(invalid(`${field}.weight`, weight, 'must have a positive weight applied to it'))
  if (httpTimeout !== undefined && !((tryParseDurationMs(httpTimeout) ?? -1) >= 0))
    errors.push(invalid(`${field}.httpTimeout`, httpTimeout, 'must be a duration'))
  for (const [index, { name = '' }] of managedResources.entries()) {
    const at = `${field}.managedResources[${index}].name`
    const faults = checkQualifiedName(name)
    errors.push(...invalidEach(at, name, faults))
    if (faults.length === 0 && !isExtendedResource(name))
      errors.push(invalid(at, name, 'is an invalid extended resource name'))
    if (seen.has(name)) errors.push(invalid(at, name, 'duplicate extender managed resource name'))
    seen.add(name)
  }
  return errors
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
