/** Dynamic provisioning of volumes. */
import { messageOf } from '#/base/message-of.ts'
import {
  annotationOf,
  withAnnotations,
  withoutAnnotation,
  keyOf,
  type Stored,
  type Named,
} from '#/api/metadata.ts'
import { ApiError, isApiError } from '#/api/errors.ts'
import { persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import {
  boundByControllerAnnotation,
  referenceTo,
  selectedNodeAnnotation,
} from '#/api/core/persistent-volumes.ts'
import { quote } from '#/api/text/quote.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import type { ProvisionedVolume, Provisioner } from '../shared/provisioner.ts'
import { migratedDriverOf, isUnsupportedInTree } from './csi-migration.ts'
import { betaStorageProvisioner, deletionFinalizer, provisionedBy, storageProvisioner } from './names.ts'
import { updateClaim, type Writing } from './write.ts'

export interface Provisioning extends Writing {
  readonly provisioners: ReadonlyMap<string, Provisioner>
  readonly nodeOf: (name: string) => Stored<Node> | undefined
}

/** A claim and its provisioned volume, in their latest versions. */
export interface Provisioned {
  readonly claim: Stored<PersistentVolumeClaim>
  readonly volume: Stored<PersistentVolume>
}

/** Undefined if the provisioner is external, or if provisioning is not possible at present. */
export async function provision(
  provisioning: Provisioning,
  claim: Stored<PersistentVolumeClaim>,
  storageClass: Stored<StorageClass>,
): Promise<Provisioned | undefined> {
  const provisioner = provisioning.provisioners.get(storageClass.provisioner)
  if (provisioner) return provisionHere(provisioning, claim, { storageClass, provisioner })
  if (isUnsupportedInTree(storageClass.provisioner)) {
    fail(provisioning, claim, `no volume plugin matched name: ${storageClass.provisioner}`)
    return undefined
  }
  const driver = migratedDriverOf(storageClass.provisioner)
  await nameProvisioner(provisioning, claim, driver)
  provisioning.recorder.record(claim, {
    type: 'Normal',
    reason: 'ExternalProvisioning',
    message:
      `Waiting for a volume to be created either by the external provisioner '${driver}' or manually by the ` +
      'system administrator. If volume creation is delayed, please verify that the provisioner is running and ' +
      'correctly registered.',
  })
  return undefined
}

interface Choice {
  readonly storageClass: Stored<StorageClass>
  readonly provisioner: Provisioner
}

async function provisionHere(
  provisioning: Provisioning,
  given: Stored<PersistentVolumeClaim>,
  choice: Choice,
): Promise<Provisioned | undefined> {
  const { client, volumes, nodeOf } = provisioning
  const refusal = refusalOf(given, choice)
  if (refusal !== undefined) {
    fail(provisioning, given, refusal)
    return undefined
  }
  const claim = await nameProvisioner(provisioning, given, choice.provisioner.name)
  const volumeName = volumeNameOf(claim)
  // Provisioned before a crash, or by another process.
  const known = volumes.get(volumeName) ?? (await client.find(persistentVolumes, { name: volumeName }))
  if (known) return { claim, volume: known }
  const nodeName = annotationOf(claim, selectedNodeAnnotation)
  const node = nodeName === undefined ? undefined : nodeOf(nodeName)
  if (nodeName !== undefined && node === undefined) {
    // The claim is enqueued when the node appears.
    fail(provisioning, claim, `Failed to get target node: node ${quote(nodeName)} not found`)
    return undefined
  }
  const { storageClass, provisioner } = choice
  let made: ProvisionedVolume
  try {
    made = await provisioner.provision({ volumeName, claim, storageClass, selectedNode: node })
  } catch (error) {
    const about = `Failed to provision volume with StorageClass ${quote(storageClass.metadata.name)}`
    fail(provisioning, claim, `${about}: ${messageOf(error)}`)
    // The scheduler may select another node where provisioning succeeds.
    await updateClaim(provisioning, withoutAnnotation(claim, selectedNodeAnnotation), claim)
    throw error
  }
  const unrecorded = { claim, provisioner, volume: volumeFor(claim, made, choice) }
  return { claim, volume: await record(provisioning, unrecorded) }
}

function volumeNameOf(claim: Stored<PersistentVolumeClaim>): string {
  return `pvc-${claim.metadata.uid}`
}

/** Reason why provisioning is rejected before calling the provisioner. */
function refusalOf(
  { spec }: PersistentVolumeClaim,
  { storageClass, provisioner }: Choice,
): string | undefined {
  if (spec?.dataSource !== undefined || spec?.dataSourceRef !== undefined) {
    const rule = 'Only CSI plugin can provision a claim with a datasource'
    return `plugin ${quote(provisioner.name)} is not a CSI plugin. ${rule}`
  }
  const { mountOptions = [], metadata } = storageClass
  if (provisioner.supportsMountOptions || mountOptions.length === 0) return undefined
  return (
    'Mount options are not supported by the provisioner but StorageClass ' +
    `${quote(metadata.name)} has mount options [${mountOptions.join(' ')}]`
  )
}

function volumeFor(
  claim: Stored<PersistentVolumeClaim>,
  made: ProvisionedVolume,
  { storageClass, provisioner }: Choice,
): Named<PersistentVolume> {
  const { annotations, labels, spec } = made
  const policy = spec.persistentVolumeReclaimPolicy ?? storageClass.reclaimPolicy ?? 'Delete'
  return {
    metadata: {
      name: volumeNameOf(claim),
      ...(labels && { labels }),
      annotations: {
        ...annotations,
        [boundByControllerAnnotation]: 'yes',
        [provisionedBy]: provisioner.name,
      },
      ...(policy === 'Delete' && { finalizers: [deletionFinalizer] }),
    },
    spec: {
      ...spec,
      persistentVolumeReclaimPolicy: policy,
      storageClassName: storageClassOf(claim),
      claimRef: referenceTo(claim),
    },
  }
}

/** A volume whose storage exists but whose object does not. */
interface Unrecorded {
  readonly claim: Stored<PersistentVolumeClaim>
  readonly provisioner: Provisioner
  readonly volume: Named<PersistentVolume>
}

/** Creates the PersistentVolume. */
async function record(provisioning: Provisioning, unrecorded: Unrecorded): Promise<Stored<PersistentVolume>> {
  const { client, recorder, volumes } = provisioning
  const { claim, provisioner, volume } = unrecorded
  const name = volume.metadata.name
  try {
    const created = await volumes.assume(client.create(persistentVolumes, volume))
    const message = `Successfully provisioned volume ${name} using ${provisioner.name}`
    recorder.record(claim, { type: 'Normal', reason: 'ProvisioningSucceeded', message })
    return created
  } catch (error) {
    if (isApiError(error, 'AlreadyExists')) return client.get(persistentVolumes, { name })
    // After other errors the object may have been created, and only the response was lost.
    if (isRefusal(error)) await cleanUp(provisioning, unrecorded, error)
    throw error
  }
}

async function cleanUp(
  provisioning: Provisioning,
  { claim, provisioner, volume }: Unrecorded,
  cause: unknown,
): Promise<void> {
  const about = `provisioned PV object for claim ${keyOf(claim)}`
  fail(provisioning, claim, `Error creating ${about}: ${messageOf(cause)}. Deleting the volume.`)
  try {
    await provisioner.delete(volume)
  } catch (error) {
    const problem = `Error cleaning provisioned volume for claim ${keyOf(claim)}: ${messageOf(error)}`
    provisioning.recorder.record(claim, {
      type: 'Warning',
      reason: 'ProvisioningCleanupFailed',
      message: `${problem}. Please delete manually.`,
    })
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.code >= 400 && error.code < 500 && error.code !== 429
}

/** Sets the claim's provisioner annotation, which external provisioners act on. */
async function nameProvisioner(
  writing: Writing,
  claim: Stored<PersistentVolumeClaim>,
  name: string,
): Promise<Stored<PersistentVolumeClaim>> {
  if (annotationOf(claim, storageProvisioner) === name) return claim
  const named = withAnnotations(claim, { [betaStorageProvisioner]: name, [storageProvisioner]: name })
  return updateClaim(writing, named, claim)
}

function fail({ recorder }: Writing, claim: PersistentVolumeClaim, message: string): void {
  recorder.record(claim, { type: 'Warning', reason: 'ProvisioningFailed', message })
}
