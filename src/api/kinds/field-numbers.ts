/** The protobuf field numbers of all groups, in the notation of `protobuf/field-numbers.ts`. */
import { admissionregistrationFieldNumbers } from './admissionregistration/group.ts'
import { apiextensionsFieldNumbers } from './apiextensions/group.ts'
import { apiregistrationFieldNumbers } from './apiregistration/group.ts'
import { apiserverinternalFieldNumbers } from './apiserverinternal/group.ts'
import { appsFieldNumbers } from './apps/group.ts'
import { authenticationFieldNumbers } from './authentication/group.ts'
import { authorizationFieldNumbers } from './authorization/group.ts'
import { autoscalingFieldNumbers } from './autoscaling/group.ts'
import { batchFieldNumbers } from './batch/group.ts'
import { certificatesFieldNumbers } from './certificates/group.ts'
import { coordinationFieldNumbers } from './coordination/group.ts'
import { coreFieldNumbers } from './core/group.ts'
import { discoveryFieldNumbers } from './discovery/group.ts'
import { eventsFieldNumbers } from './events/group.ts'
import { flowcontrolFieldNumbers } from './flowcontrol/group.ts'
import { metaFieldNumbers } from './meta-group.ts'
import { networkingFieldNumbers } from './networking/group.ts'
import { nodeFieldNumbers } from './node/group.ts'
import { policyFieldNumbers } from './policy/group.ts'
import { rbacFieldNumbers } from './rbac/group.ts'
import { resourceFieldNumbers } from './resource/group.ts'
import { schedulingFieldNumbers } from './scheduling/group.ts'
import { storageFieldNumbers } from './storage/group.ts'
import { storagemigrationFieldNumbers } from './storagemigration/group.ts'

/** By the short name of the group. */
export const fieldNumbers: ReadonlyMap<string, string> = new Map(
  Object.entries({
    admissionregistration: admissionregistrationFieldNumbers,
    apiextensions: apiextensionsFieldNumbers,
    apiregistration: apiregistrationFieldNumbers,
    apiserverinternal: apiserverinternalFieldNumbers,
    apps: appsFieldNumbers,
    authentication: authenticationFieldNumbers,
    authorization: authorizationFieldNumbers,
    autoscaling: autoscalingFieldNumbers,
    batch: batchFieldNumbers,
    certificates: certificatesFieldNumbers,
    coordination: coordinationFieldNumbers,
    core: coreFieldNumbers,
    discovery: discoveryFieldNumbers,
    events: eventsFieldNumbers,
    flowcontrol: flowcontrolFieldNumbers,
    meta: metaFieldNumbers,
    networking: networkingFieldNumbers,
    node: nodeFieldNumbers,
    policy: policyFieldNumbers,
    rbac: rbacFieldNumbers,
    resource: resourceFieldNumbers,
    scheduling: schedulingFieldNumbers,
    storage: storageFieldNumbers,
    storagemigration: storagemigrationFieldNumbers,
  }),
)
