import type { Overlays } from '#/api/kinds/overlay.ts'
import { admissionregistrationOverlay } from '#/api/kinds/admissionregistration/group.ts'
import { apiextensionsOverlay } from '#/api/kinds/apiextensions/group.ts'
import { apiregistrationOverlay } from '#/api/kinds/apiregistration/group.ts'
import { apiserverinternalOverlay } from '#/api/kinds/apiserverinternal/group.ts'
import { appsOverlay } from '#/api/kinds/apps/group.ts'
import { autoscalingOverlay } from '#/api/kinds/autoscaling/group.ts'
import { batchOverlay } from '#/api/kinds/batch/group.ts'
import { certificatesOverlay } from '#/api/kinds/certificates/group.ts'
import { coreOverlay } from '#/api/kinds/core/group.ts'
import { discoveryOverlay } from '#/api/kinds/discovery/group.ts'
import { eventsOverlay } from '#/api/kinds/events/group.ts'
import { flowcontrolOverlay } from '#/api/kinds/flowcontrol/group.ts'
import { metaOverlay } from '#/api/kinds/meta-group.ts'
import { networkingOverlay } from '#/api/kinds/networking/group.ts'
import { nodeOverlay } from '#/api/kinds/node/group.ts'
import { policyOverlay } from '#/api/kinds/policy/group.ts'
import { rbacOverlay } from '#/api/kinds/rbac/group.ts'
import { resourceOverlay } from '#/api/kinds/resource/group.ts'
import { schedulingOverlay } from '#/api/kinds/scheduling/group.ts'
import { storageOverlay } from '#/api/kinds/storage/group.ts'
import { storagemigrationOverlay } from '#/api/kinds/storagemigration/group.ts'

/** The overlays of all groups. */
export const overlays: Overlays = {
  admissionregistration: admissionregistrationOverlay,
  apiextensions: apiextensionsOverlay,
  apiregistration: apiregistrationOverlay,
  apiserverinternal: apiserverinternalOverlay,
  apps: appsOverlay,
  autoscaling: autoscalingOverlay,
  batch: batchOverlay,
  certificates: certificatesOverlay,
  core: coreOverlay,
  discovery: discoveryOverlay,
  events: eventsOverlay,
  flowcontrol: flowcontrolOverlay,
  meta: metaOverlay,
  networking: networkingOverlay,
  node: nodeOverlay,
  policy: policyOverlay,
  rbac: rbacOverlay,
  resource: resourceOverlay,
  scheduling: schedulingOverlay,
  storage: storageOverlay,
  storagemigration: storagemigrationOverlay,
}
