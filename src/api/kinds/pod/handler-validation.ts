/** Validation of probes and lifecycle hooks, which must have exactly one handler. */
import { enumValues } from '../../definitions.ts'
import { forbiddenField, invalid, invalidEach, required, type FieldError } from '../../field-error.ts'
import type {
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  Lifecycle,
  Probe,
  SleepAction,
  TCPSocketAction,
} from '../../generated/core/v1.ts'
import type { Int64 } from '../../text/int64.ts'
import type { IntOrString } from '../../text/int-or-string.ts'
import { checkHttpHeaderName, checkPortName, checkPortNumber } from '../../names.ts'
import { validateNonNegative, validateOptionalChoice, validatePresent } from '../validation/field-checks.ts'

interface Probed {
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly startupProbe?: Probe
}

export function validateProbes(
  field: string,
  { livenessProbe, readinessProbe, startupProbe }: Probed,
): FieldError[] {
  return [
    ...(livenessProbe ? validateSingleSuccessProbe(`${field}.livenessProbe`, livenessProbe) : []),
    ...(readinessProbe ? validateReadinessProbe(`${field}.readinessProbe`, readinessProbe) : []),
    ...(startupProbe ? validateSingleSuccessProbe(`${field}.startupProbe`, startupProbe) : []),
  ]
}

/** A sleep must not exceed the termination grace period. */
export function validateLifecycle(
  field: string,
  lifecycle: Lifecycle,
  graceSeconds: Int64 | undefined,
): FieldError[] {
  const { postStart, preStop } = lifecycle
  return [
    ...(postStart ? validateHandler(`${field}.postStart`, postStart, graceSeconds) : []),
    ...(preStop ? validateHandler(`${field}.preStop`, preStop, graceSeconds) : []),
  ]
}

function validateSingleSuccessProbe(field: string, probe: Probe): FieldError[] {
  const errors = validateProbe(field, probe)
  if (probe.successThreshold === 1) return errors
  return [...errors, invalid(`${field}.successThreshold`, probe.successThreshold ?? 0, 'must be 1')]
}

function validateReadinessProbe(field: string, probe: Probe): FieldError[] {
  const errors = validateProbe(field, probe)
  const { terminationGracePeriodSeconds: seconds } = probe
  if (seconds === undefined) return errors
  const detail = 'must not be set for readinessProbes'
  return [...errors, invalid(`${field}.terminationGracePeriodSeconds`, seconds, detail)]
}

function validateProbe(field: string, probe: Probe): FieldError[] {
  const { terminationGracePeriodSeconds: seconds } = probe
  const errors = [
    ...validateHandler(field, probe, undefined),
    ...validateNonNegative(`${field}.initialDelaySeconds`, probe.initialDelaySeconds),
    ...validateNonNegative(`${field}.timeoutSeconds`, probe.timeoutSeconds),
    ...validateNonNegative(`${field}.periodSeconds`, probe.periodSeconds),
    ...validateNonNegative(`${field}.successThreshold`, probe.successThreshold),
    ...validateNonNegative(`${field}.failureThreshold`, probe.failureThreshold),
  ]
  if (seconds === undefined || seconds > 0) return errors
  return [...errors, invalid(`${field}.terminationGracePeriodSeconds`, seconds, 'must be greater than 0')]
}

interface Handler {
  readonly exec?: ExecAction
  readonly httpGet?: HTTPGetAction
  readonly tcpSocket?: TCPSocketAction
  readonly grpc?: GRPCAction
  readonly sleep?: SleepAction
}

function validateHandler(field: string, handler: Handler, graceSeconds: Int64 | undefined): FieldError[] {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler
  const checks: (readonly [string, () => FieldError[]])[] = []
  if (exec) checks.push(['exec', () => validatePresent(`${field}.exec.command`, exec.command)])
  if (httpGet) checks.push(['httpGet', () => validateRequest(`${field}.httpGet`, httpGet)])
  if (tcpSocket) checks.push(['tcpSocket', () => validatePort(`${field}.tcpSocket.port`, tcpSocket.port)])
  if (grpc) checks.push(['grpc', () => validatePort(`${field}.grpc.port`, grpc.port)])
  if (sleep) checks.push(['sleep', () => validateSleep(`${field}.sleep`, sleep, graceSeconds)])
  if (checks.length === 0) return [required(field, 'must specify a handler type')]
  return checks.flatMap(([name, check], index) => {
    return index === 0
      ? check()
      : [forbiddenField(`${field}.${name}`, 'may not specify more than 1 handler type')]
  })
}

function validateRequest(
  field: string,
  { path, port, scheme = '', httpHeaders }: HTTPGetAction,
): FieldError[] {
  return [
    ...validatePresent(`${field}.path`, path),
    ...validatePort(`${field}.port`, port),
    ...validateOptionalChoice(`${field}.scheme`, scheme, enumValues('core.URIScheme')),
    ...(httpHeaders ?? [])
      .map(header => header.name ?? '')
      .flatMap(name => {
        return invalidEach(`${field}.httpHeaders`, name, checkHttpHeaderName(name))
      }),
  ]
}

/** A port number or a port name. */
function validatePort(field: string, port: IntOrString = 0): FieldError[] {
  return invalidEach(field, port, typeof port === 'number' ? checkPortNumber(port) : checkPortName(port))
}

function validateSleep(
  field: string,
  { seconds = 0 }: Partial<SleepAction>,
  graceSeconds: Int64 | undefined,
): FieldError[] {
  if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return []
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`
  return [invalid(field, seconds, detail)]
}
