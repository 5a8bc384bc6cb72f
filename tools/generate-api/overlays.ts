import type { Overlays } from '#/api/kinds/overlay.ts'
import { admissionregistration } from '#/api/kinds/admissionregistration/overlay.ts'
import { apiextensions } from '#/api/kinds/apiextensions/overlay.ts'
import { apiregistration } from '#/api/kinds/apiregistration/overlay.ts'
import { apiserverinternal } from '#/api/kinds/apiserverinternal/overlay.ts'
import { apps } from '#/api/kinds/apps/overlay.ts'
import { autoscaling } from '#/api/kinds/autoscaling/overlay.ts'
import { batch } from '#/api/kinds/batch/overlay.ts'
import { certificates } from '#/api/kinds/certificates/overlay.ts'
import { core } from '#/api/kinds/core/overlay.ts'
import { discovery } from '#/api/kinds/discovery/overlay.ts'
import { events } from '#/api/kinds/events/overlay.ts'
import { flowcontrol } from '#/api/kinds/flowcontrol/overlay.ts'
import { meta } from '#/api/kinds/meta/overlay.ts'
import { networking } from '#/api/kinds/networking/overlay.ts'
import { node } from '#/api/kinds/node/overlay.ts'
import { policy } from '#/api/kinds/policy/overlay.ts'
import { rbac } from '#/api/kinds/rbac/overlay.ts'
import { resource } from '#/api/kinds/resource/overlay.ts'
import { scheduling } from '#/api/kinds/scheduling/overlay.ts'
import { storage } from '#/api/kinds/storage/overlay.ts'
import { storagemigration } from '#/api/kinds/storagemigration/overlay.ts'

/** The overlays of all groups. */
export const overlays: Overlays = {
  admissionregistration,
  apiextensions,
  apiregistration,
  apiserverinternal,
  apps,
  autoscaling,
  batch,
  certificates,
  core,
  discovery,
  events,
  flowcontrol,
  meta,
  networking,
  node,
  policy,
  rbac,
  resource,
  scheduling,
  storage,
  storagemigration,
}
