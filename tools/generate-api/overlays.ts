import type { Overlays } from '#/api/kinds/overlay.ts'
import { admissionregistrationOverlay } from '#/api/kinds/admissionregistration/overlay.ts'
import { apiextensionsOverlay } from '#/api/kinds/apiextensions/overlay.ts'
import { apiregistrationOverlay } from '#/api/kinds/apiregistration/overlay.ts'
import { apiserverinternalOverlay } from '#/api/kinds/apiserverinternal/overlay.ts'
import { appsOverlay } from '#/api/kinds/apps/overlay.ts'
import { authenticationOverlay } from '#/api/kinds/authentication/overlay.ts'
import { authorizationOverlay } from '#/api/kinds/authorization/overlay.ts'
import { autoscalingOverlay } from '#/api/kinds/autoscaling/overlay.ts'
import { batchOverlay } from '#/api/kinds/batch/overlay.ts'
import { certificatesOverlay } from '#/api/kinds/certificates/overlay.ts'
import { coordinationOverlay } from '#/api/kinds/coordination/overlay.ts'
import { coreOverlay } from '#/api/kinds/core/overlay.ts'
import { discoveryOverlay } from '#/api/kinds/discovery/overlay.ts'
import { eventsOverlay } from '#/api/kinds/events/overlay.ts'
import { flowcontrolOverlay } from '#/api/kinds/flowcontrol/overlay.ts'
import { metaOverlay } from '#/api/kinds/meta-overlay.ts'
import { networkingOverlay } from '#/api/kinds/networking/overlay.ts'
import { nodeOverlay } from '#/api/kinds/node/overlay.ts'
import { policyOverlay } from '#/api/kinds/policy/overlay.ts'
import { rbacOverlay } from '#/api/kinds/rbac/overlay.ts'
import { resourceOverlay } from '#/api/kinds/resource/overlay.ts'
import { schedulingOverlay } from '#/api/kinds/scheduling/overlay.ts'
import { storageOverlay } from '#/api/kinds/storage/overlay.ts'
import { storagemigrationOverlay } from '#/api/kinds/storagemigration/overlay.ts'

/** The overlays of all groups. */
export const overlays: Overlays = {
  admissionregistration: admissionregistrationOverlay,
  apiextensions: apiextensionsOverlay,
  apiregistration: apiregistrationOverlay,
  apiserverinternal: apiserverinternalOverlay,
  apps: appsOverlay,
  authentication: authenticationOverlay,
  authorization: authorizationOverlay,
  autoscaling: autoscalingOverlay,
  batch: batchOverlay,
  certificates: certificatesOverlay,
  coordination: coordinationOverlay,
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
