/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, mergedSet, type Overlay } from './overlay.ts'

export const metaOverlay: Overlay = {
  types: {
    'ManagedFieldsEntry.fieldsV1': 'meta.v1.FieldsV1',
    'WatchEvent.object': 'runtime.RawExtension',
  },
  definitions: { 'meta.v1.FieldsV1': 'any', 'meta.v1.Patch': 'any', 'runtime.RawExtension': 'any' },
  atomic: ['LabelSelector', 'OwnerReference'],
  merging: {
    'ObjectMeta.finalizers': mergedSet,
    'ObjectMeta.ownerReferences': merged('uid'),
  },
  kinds: {
    APIGroup: 'own-group',
    APIGroupList: 'own-group',
    APIResourceList: 'own-group',
    APIVersions: 'own-group',
    DeleteOptions: 'every-group',
    Status: 'own-group',
    WatchEvent: 'every-group',
  },
  spacedSentences: [
    'APIResource.group',
    'APIResource.singularName',
    'APIResource.version',
    'Condition.lastTransitionTime',
    'GroupResource',
    'ObjectMeta.finalizers',
    'StatusCause.message',
  ],
  fieldNumbers: `
APIGroup: name versions preferredVersion serverAddressByClientCIDRs
APIGroupList: groups
APIResource: name namespaced kind verbs(items) shortNames singularName categories group version
  storageVersionHash
APIResourceList: groupVersion resources
APIVersions: versions serverAddressByClientCIDRs
Condition: type status observedGeneration lastTransitionTime reason message
DeleteOptions: gracePeriodSeconds? preconditions? orphanDependents? propagationPolicy? dryRun
  ignoreStoreReadErrorWithClusterBreakingPotential?
FieldSelectorRequirement: key operator values
GroupResource: group resource
GroupVersionForDiscovery: groupVersion version
LabelSelector: matchLabels matchExpressions
LabelSelectorRequirement: key operator values
ListMeta: selfLink resourceVersion continue remainingItemCount? shardInfo?
ManagedFieldsEntry: manager operation apiVersion time? 6:fieldsType fieldsV1? subresource
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation creationTimestamp-
  deletionTimestamp? deletionGracePeriodSeconds? labels annotations ownerReferences finalizers
  17:managedFields
OwnerReference: kind 3:name uid apiVersion controller? blockOwnerDeletion?
PartialObjectMetadata: metadata
PartialObjectMetadataList: metadata items
v1beta1/PartialObjectMetadataList: items metadata
Preconditions: uid? resourceVersion?
ServerAddressByClientCIDR: clientCIDR serverAddress
ShardInfo: selector
Status: metadata status message reason details? code
StatusCause: reason message field
StatusDetails: name group kind causes retryAfterSeconds uid
WatchEvent: type object
`,
}
