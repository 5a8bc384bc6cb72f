/** Validation of downward API references: `fieldRef` and `resourceFieldRef`. */
import { invalid, invalidEach, notSupported, required, type FieldError } from '../../field-error.ts'
import type { ObjectFieldSelector, ResourceFieldSelector } from '../../generated/core/v1.ts'
import { checkQualifiedName } from '../../names.ts'
import { isHugePageResourceName } from '../../core/resource-names.ts'
import { quantityOf } from '../../core/resource-amounts.ts'

/** Validates a `fieldRef`; only certain fields are supported. */
export function validateFieldSelector(
  field: string,
  selector: Partial<ObjectFieldSelector>,
  allowed: readonly string[],
): FieldError[] {
  const { apiVersion = '', fieldPath = '' } = selector
  if (apiVersion === '') return [required(`${field}.apiVersion`, '')]
  if (fieldPath === '') return [required(`${field}.fieldPath`, '')]
  const refuse = (reason: string): FieldError[] => {
    return [invalid(`${field}.fieldPath`, fieldPath, `error converting fieldPath: ${reason}`)]
  }
  if (apiVersion !== 'v1') return refuse(`unsupported pod version: ${apiVersion}`)
  const [map, key] = splitSubscript(fieldPath)
  if (key !== undefined) {
    if (map === 'metadata.annotations') {
      return invalidEach(field, key.toLowerCase(), checkQualifiedName(key.toLowerCase()))
    }
    if (map === 'metadata.labels') return invalidEach(field, key, checkQualifiedName(key))
    return refuse(`field label does not support subscript: ${fieldPath}`)
  }
  if (!podFields.has(fieldPath)) return refuse(`field label not supported: ${fieldPath}`)
  const path = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath
  return allowed.includes(path) ? [] : [notSupported(`${field}.fieldPath`, fieldPath, allowed)]
}

/** Validates a `resourceFieldRef`. */
export function validateResourceSelector(
  field: string,
  selector: Partial<ResourceFieldSelector>,
): FieldError[] {
  const { resource = '', divisor = '0' } = selector
  const errors: FieldError[] = []
  if (resource === '') errors.push(required(`${field}.resource`, ''))
  else if (
    !containerFields.includes(resource) &&
    !isHugePageResourceName(resource.replace(/^(?:limits|requests)\./, ''))
  ) {
    errors.push(notSupported(`${field}.resource`, resource, containerFields))
  }
  return [...errors, ...validateDivisor(`${field}.divisor`, resource, divisor)]
}

const podFields: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.host',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.phase',
  'status.podIP',
  'status.podIPs',
])

const containerFields = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]

/** Splits `metadata.labels['app']` into `metadata.labels` and `app`. */
function splitSubscript(path: string): readonly [string, string?] {
  const open = path.indexOf("['")
  if (open <= 0 || !path.endsWith("']")) return [path]
  return [path.slice(0, open), path.slice(open + 2, -2)]
}

const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']
const resourceTitles: ReadonlyMap<string, string> = new Map([
  ['memory', 'memory'],
  ['ephemeral-storage', 'local ephemeral storage'],
])

function validateDivisor(field: string, resource: string, divisor: string): FieldError[] {
  if (quantityOf(divisor).nanos === 0n) return []
  const name = resource.replace(/^(?:limits|requests)\./, '')
  if (name === 'cpu') {
    if (divisor === '1m' || divisor === '1') return []
    return [invalid(field, resource, "only divisor's values 1m and 1 are supported with the cpu resource")]
  }
  const title = isHugePageResourceName(name) ? 'hugepages' : resourceTitles.get(name)
  if (title === undefined || byteDivisors.includes(divisor)) return []
  const detail = `only divisor's values ${byteDivisors.join(', ')} are supported with the ${title} resource`
  return [invalid(field, resource, detail)]
}
