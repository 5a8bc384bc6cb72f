/** Validation of service ports. */
import { duplicate, forbiddenField, required, type FieldError } from '../../../field-error.ts'
import type { ServicePort, ServiceSpec } from '../../../generated/core/v1.ts'
import { validateChoice, validateDnsLabel } from '../../validation/field-checks.ts'
import {
  portProtocols,
  validateAppProtocol,
  validatePortNumber,
  validatePortOrName,
} from '../../validation/ports.ts'

/** Validates each port separately, and that names are unique. */
export function validateServicePorts({ ports = [] }: ServiceSpec): FieldError[] {
  const names = new Set<string>()
  return ports.flatMap((port, index) => {
    const field = `spec.ports[${index}]`
    const { name = '' } = port
    const errors: FieldError[] = []
    if (name !== '') errors.push(...validateDnsLabel(`${field}.name`, name))
    else if (ports.length > 1) errors.push(required(`${field}.name`, ''))
    if (name !== '' && names.has(name)) errors.push(duplicate(`${field}.name`, name))
    names.add(name)
    return [...errors, ...validateServicePort(field, port)]
  })
}

/** Rejects duplicate ports and node ports, and node ports of ClusterIP services. */
export function validateDistinctPorts({ type, ports = [] }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = []
  for (const [index, { nodePort }] of ports.entries()) {
    if (type !== 'ClusterIP' || !nodePort) continue
    errors.push(forbiddenField(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'"))
  }
  const nodePorts = new Set<string>()
  for (const [index, { nodePort, protocol = '' }] of ports.entries()) {
    if (!nodePort) continue
    const key = `${nodePort}/${protocol}`
    if (nodePorts.has(key)) errors.push(duplicate(`spec.ports[${index}].nodePort`, nodePort))
    nodePorts.add(key)
  }
  const seen = new Set<string>()
  for (const [index, { port, protocol = '' }] of ports.entries()) {
    const key = `${port}/${protocol}`
    if (seen.has(key)) errors.push(duplicate(`spec.ports[${index}]`, shownPort(port, protocol)))
    seen.add(key)
  }
  return errors
}

function validateServicePort(field: string, port: ServicePort): FieldError[] {
  const { protocol, targetPort = 0, appProtocol } = port
  return [
    ...validatePortNumber(`${field}.port`, port.port ?? 0),
    ...validateChoice(`${field}.protocol`, protocol, portProtocols),
    ...validatePortOrName(`${field}.targetPort`, targetPort),
    ...validateAppProtocol(`${field}.appProtocol`, appProtocol),
  ]
}

/** The value in the error for duplicate ports: only port and protocol are set, with Go's field names. */
function shownPort(port: number, protocol: string): object {
  return { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 }
}
