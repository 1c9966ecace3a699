"""Prints the SBOM of a release as SPDX 2.3 JSON: the source archive, the wheel, and the Debian packages whose code the wheel holds.
Usage: sbom.py VERSION COMMIT TIME ARCHIVE WHEEL. The packages are those of licenses/THIRD-PARTY.txt in the wheel. Same input, same bytes."""

import datetime
import hashlib
import json
import os
import re
import sys
import urllib.parse
import zipfile

RELATION = {"program": "STATIC_LINK", "tree": "CONTAINS"}


def package(name, version, ref, **members):
    return {"SPDXID": "SPDXRef-" + ref, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **members}


def release_file(path, version, ref, purpose, **members):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return package("agentjail", version, ref, packageFileName=os.path.basename(path), primaryPackagePurpose=purpose,
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}], **members)


def third_parties(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/licenses/THIRD-PARTY.txt"))
        text = archive.read(name).decode()
    rows = re.findall(r"(?m)^(program|tree) +(\S+) +(\S+) +\S+$", text)
    if not rows:
        sys.exit("sbom: %s of %s names no package" % (name, wheel))
    for part, name, version in rows:
        purl = "pkg:deb/debian/%s@%s" % (urllib.parse.quote(name), urllib.parse.quote(version, safe=""))
        yield part, package(name, version, "%s-%s" % (part, re.sub("[^A-Za-z0-9.-]", "-", name)), externalRefs=[
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}])


def main():
    version, commit, time, archive, wheel = sys.argv[1:]
    with zipfile.ZipFile(wheel) as file:
        metadata = file.read(next(name for name in file.namelist() if name.endswith(".dist-info/METADATA"))).decode()
    licence = re.search(r"(?m)^License-Expression: (.*)$", metadata).group(1)
    source = release_file(archive, version, "source", "SOURCE", licenseDeclared="MIT")
    binary = release_file(wheel, version, "wheel", "APPLICATION", licenseDeclared=licence)
    others = list(third_parties(wheel))
    related = [("DOCUMENT", "DESCRIBES", "source"), ("DOCUMENT", "DESCRIBES", "wheel"), ("wheel", "GENERATED_FROM", "source")]
    related += [("wheel", RELATION[part], other["SPDXID"].removeprefix("SPDXRef-")) for part, other in others]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "agentjail-" + version,
        "documentNamespace": "https://spdx.org/spdxdocs/agentjail-%s-%s" % (version, commit),
        "creationInfo": {"created": datetime.datetime.fromtimestamp(int(time), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Organization: The agentjail authors", "Tool: agentjail-sbom.py"]},
        "packages": [source, binary, *(other for _, other in others)],
        "relationships": [{"spdxElementId": "SPDXRef-" + a, "relationshipType": how, "relatedSpdxElement": "SPDXRef-" + b} for a, how, b in related],
    }, sys.stdout, indent=1)
    print()


main()
