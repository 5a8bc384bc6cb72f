import type { Invocation } from '../command.ts'
import { boolFlag, intFlag, stringFlag, stringSliceFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'

export const getFlags = {
  ...printFlags,
  'all-namespaces': boolFlag('Include the objects of all namespaces.', { shorthand: 'A' }),
  'chunk-size': intFlag('Number of objects per request of a large list; 0 requests all at once.', {
    shownDefault: '500',
  }),
  'field-selector': stringFlag('Selector of fields, with =, == and !=: metadata.name=web-0.'),
  'filename': stringSliceFlag('Files, folders or URLs with the objects to get.', { shorthand: 'f' }),
  'ignore-not-found': boolFlag('Objects that do not exist are no error.'),
  'kustomize': stringFlag('Folder of a kustomization with the objects to get.', { shorthand: 'k' }),
  'label-columns': stringSliceFlag('Labels that are shown as columns.', { shorthand: 'L' }),
  'no-headers': boolFlag('Omit the header of tables.'),
  'output-watch-events': boolFlag('Show the type of each event of a watch.'),
  'raw': stringFlag('Print the response to a request of this path.'),
  'recursive': boolFlag('Include the folders below the folder given by --filename.', { shorthand: 'R' }),
  'selector': stringFlag('Label selector: key=value, key!=value, key in (a,b), key notin (a), key, !key.', {
    shorthand: 'l',
  }),
  'server-print': boolFlag('Print the columns that the server defines.', { shownDefault: 'true' }),
  'show-kind': boolFlag('Show the kind in front of names.'),
  'show-labels': boolFlag('Show all labels as the last column.'),
  'sort-by': stringFlag('Sort by the field at this JSONPath: {.metadata.name}.'),
  'subresource': stringFlag('Get a subresource of the objects: status, scale, resize.'),
  'watch': boolFlag('After the objects, show their changes.', { shorthand: 'w' }),
  'watch-only': boolFlag('Show only changes.'),
}

export type GetInvocation = Invocation<typeof getFlags>
